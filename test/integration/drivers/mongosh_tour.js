// What somebody types into mongosh, against a server that runs with --auth and has no users yet.
//   mongosh --quiet --norc mongodb://127.0.0.1:PORT/?directConnection=true mongosh_steps.js mongosh_tour.js
// Prints "ok NAME" or "FAIL NAME: reason" for each step.

const admin = db.getSiblingDB("admin");
const tour = db.getSiblingDB("tour");

step("the first user is made and logs in", () => {
  fails(13, () => tour.c.findOne());
  admin.createUser({user: "admin", pwd: "s3cret", roles: ["root"]});
  equal(admin.auth("admin", "s3cret").ok, 1);
  equal(admin.getUsers().users.map((user) => user.user), ["admin"]);
});

step("documents are written, found, changed and removed", () => {
  equal(Object.keys(tour.c.insertMany(Array.from({length: 200}, (_, i) => ({_id: i, x: i % 10}))).insertedIds).length, 200);
  equal(tour.c.find({x: 3}).sort({_id: -1}).limit(2).toArray(), [{_id: 193, x: 3}, {_id: 183, x: 3}]);
  equal(tour.c.updateMany({x: 3}, {$set: {seen: true}}).modifiedCount, 20);
  equal(tour.c.findOneAndUpdate({_id: 3}, {$inc: {x: 1}}, {returnDocument: "after"}), {_id: 3, x: 4, seen: true});
  equal(tour.c.deleteMany({_id: {$gte: 190}}).deletedCount, 10);
  equal([tour.c.countDocuments({seen: true}), tour.c.estimatedDocumentCount()], [19, 190]);
});

step("a cursor is walked batch by batch", () => {
  const cursor = tour.c.find().sort({_id: 1}).batchSize(7);
  let n = 0;
  while (cursor.hasNext()) equal(cursor.next()._id, n++);
  equal(n, 190);
});

step("pipelines run, and are explained", () => {
  equal(tour.c.aggregate([{$group: {_id: "$x", n: {$sum: 1}}}, {$sort: {_id: 1}}, {$limit: 1}]).toArray(), [{_id: 0, n: 19}]);
  equal(tour.c.find({_id: 5}).explain("executionStats").executionStats.nReturned, 1);
  equal(tour.c.aggregate([{$match: {x: 1}}, {$count: "n"}]).toArray(), [{n: 19}]);
});

step("indexes are made, listed and dropped", () => {
  equal(tour.c.createIndex({x: 1}), "x_1");
  equal(tour.c.getIndexes().map((index) => index.name), ["_id_", "x_1"]);
  equal(tour.c.find({x: 2}).hint("x_1").toArray().length, 19);
  tour.c.dropIndex("x_1");
  equal(tour.c.getIndexes().length, 1);
});

step("bulk writes report what was done", () => {
  const result = tour.b.bulkWrite([{insertOne: {document: {_id: 1}}}, {updateOne: {filter: {_id: 2}, update: {$set: {a: 1}}, upsert: true}}, {deleteOne: {filter: {_id: 1}}}]);
  equal([result.insertedCount, result.upsertedCount, result.deletedCount], [1, 1, 1]);
  fails(11000, () => tour.b.insertOne({_id: 2}));
});

step("sessions begin and end", () => {
  const session = db.getMongo().startSession();
  equal(session.getDatabase("tour").c.find({_id: 1}).toArray().length, 1);
  session.endSession();
});

step("collections and databases are made, listed, looked at, renamed and dropped", () => {
  tour.createCollection("capped", {capped: true, size: 4096});
  tour.createView("v", "c", [{$match: {x: 1}}]);
  equal(["b", "c", "capped", "v"].every((name) => tour.getCollectionNames().includes(name)), true);
  equal(tour.v.countDocuments(), 19);
  equal(tour.c.stats().count, 190);
  equal(tour.c.validate().valid, true);
  tour.b.renameCollection("renamed");
  equal(tour.renamed.drop(), true);
  equal(admin.adminCommand({listDatabases: 1, nameOnly: true}).databases.some((one) => one.name === "tour"), true);
});

step("rights follow the roles of a user", () => {
  tour.createUser({user: "reader", pwd: "r", roles: ["read"]});
  const other = new Mongo(`mongodb://reader:r@${db.getMongo()._uri.match(/127\.0\.0\.1:\d+/)[0]}/tour?directConnection=true&authSource=tour`);
  equal(other.getDB("tour").c.countDocuments(), 190);
  fails(13, () => other.getDB("tour").c.insertOne({}));
  tour.grantRolesToUser("reader", ["readWrite"]);
  other.getDB("tour").c.insertOne({_id: "by the reader"});
  tour.changeUserPassword("reader", "changed");
  tour.dropUser("reader");
});

step("the server shows what it is and does", () => {
  equal(admin.serverStatus().ok, 1);
  equal(Array.isArray(admin.currentOp().inprog), true);
  equal(admin.hostInfo().ok, 1);
  equal(db.version().split(".")[0], "7");
  fails(59, () => admin.adminCommand({noSuchCommand: 1}));
  equal(tour.dropDatabase().ok, 1);
});
