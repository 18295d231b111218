// What an application does with the Node driver, against a server that runs with --auth and has no users yet.
//   node node_tour.mjs PORT        (the package mongodb lies next to this file)
// Prints "ok NAME" or "FAIL NAME: reason" for each step; the exit code is 0 when all went well.
import assert from "node:assert/strict";
import {GridFSBucket, Long, MongoClient, MongoServerError} from "mongodb";

const host = `127.0.0.1:${process.argv[2]}`;
const admin = {username: "admin", password: "s3cret"};
const clients = [];
let failed = 0;

function connect(auth, options = {}) {
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, {auth, serverSelectionTimeoutMS: 20_000, ...options});
  clients.push(client);
  return client;
}

async function step(name, work) {
  try {
    await work();
    console.log(`ok ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAIL ${name}: ${error.stack.split("\n").slice(0, 3).join(" | ")}`);
  }
}

const fails = (code, promise) => assert.rejects(promise, (error) => {
  assert.equal(error.code ?? error.writeErrors?.[0]?.code, code, String(error));
  return true;
});

await step("the localhost exception makes the first user and no second one", async () => {
  const nobody = connect();
  await fails(13, nobody.db("tour").collection("c").find().toArray());
  await nobody.db("admin").command({createUser: admin.username, pwd: admin.password, roles: ["root"]});
  await fails(13, nobody.db("admin").command({createUser: "another", pwd: "x", roles: ["root"]}));
});

const client = connect(admin);
const db = client.db("tour");
const c = db.collection("c");

await step("both mechanisms log in, a wrong password does not", async () => {
  for (const authMechanism of ["SCRAM-SHA-256", "SCRAM-SHA-1"]) {
    const status = await connect(admin, {authMechanism}).db("admin").command({connectionStatus: 1});
    assert.equal(status.authInfo.authenticatedUsers[0].user, "admin");
  }
  await fails(18, connect({...admin, password: "wrong"}).db("admin").command({ping: 1}));
});

await step("documents are written, found, changed and removed", async () => {
  await c.insertMany(Array.from({length: 500}, (_, i) => ({_id: i, n: i, group: i % 7, text: `text ${i}`})));
  assert.deepEqual(await c.findOne({_id: 3}), {_id: 3, n: 3, group: 3, text: "text 3"});
  assert.equal((await c.updateMany({group: 2}, {$inc: {n: 1000}, $push: {tags: "new"}})).modifiedCount, 72);
  assert.equal((await c.updateOne({_id: "u"}, {$set: {n: 1}}, {upsert: true})).upsertedId, "u");
  assert.equal((await c.replaceOne({_id: "u"}, {n: 2})).modifiedCount, 1);
  assert.deepEqual(await c.findOneAndDelete({_id: "u"}), {_id: "u", n: 2});
  assert.equal((await c.deleteMany({_id: {$gte: 490}})).deletedCount, 10);
  assert.equal(await c.countDocuments({n: {$gte: 1000}}), 70);
  assert.deepEqual((await c.distinct("group")).sort(), [0, 1, 2, 3, 4, 5, 6]);
});

await step("cursors fetch in batches, can be left early, and follow a capped collection", async () => {
  let n = 0;
  for await (const document of c.find({}, {batchSize: 33}).sort({_id: 1})) assert.equal(document._id, n++);
  assert.equal(n, 490);
  const left = c.find({}, {batchSize: 2});
  await left.next();
  await left.close();
  const capped = await db.createCollection("log", {capped: true, size: 100_000});
  await capped.insertOne({_id: 1});
  const tail = capped.find({}, {tailable: true, awaitData: true, maxAwaitTimeMS: 5000});
  assert.equal((await tail.next())._id, 1);
  const later = tail.next();
  await capped.insertOne({_id: 2});
  assert.equal((await later)._id, 2);
  await tail.close();
});

await step("pipelines group, join, unwind and write", async () => {
  await db.collection("names").insertMany(Array.from({length: 7}, (_, i) => ({_id: i, name: `group ${i}`})));
  const rows = await c.aggregate([
    {$group: {_id: "$group", count: {$sum: 1}, most: {$max: "$n"}}},
    {$lookup: {from: "names", localField: "_id", foreignField: "_id", as: "name"}},
    {$unwind: "$name"},
    {$sort: {_id: 1}},
    {$project: {count: 1, most: 1, name: "$name.name"}},
  ]).toArray();
  assert.deepEqual(rows[2], {_id: 2, count: 70, most: 1485, name: "group 2"});
  await c.aggregate([{$match: {_id: {$lt: 5}}}, {$merge: {into: "merged", whenMatched: "replace"}}]).toArray();
  await c.aggregate([{$match: {_id: {$lt: 3}}}, {$out: "out"}]).toArray();
  assert.deepEqual([await db.collection("merged").countDocuments(), await db.collection("out").countDocuments()], [5, 3]);
});

await step("bulk writes stop at an error when ordered, and only then", async () => {
  const b = db.collection("bulk");
  const models = [{insertOne: {document: {_id: 1}}}, {insertOne: {document: {_id: 1}}}, {updateOne: {filter: {_id: 1}, update: {$set: {x: 1}}}},
    {deleteOne: {filter: {_id: 9}}}];
  await assert.rejects(b.bulkWrite(models), (e) => e.code === 11000 && e.result.insertedCount === 1 && e.result.modifiedCount === 0);
  await b.deleteMany({});
  await assert.rejects(b.bulkWrite(models, {ordered: false}), (e) => e.writeErrors.length === 1 && e.result.modifiedCount === 1);
});

await step("sessions carry their cursors to the end; transactions need a replica set", async () => {
  const session = client.startSession();
  const cursor = c.find({}, {session, batchSize: 2});
  await cursor.next();
  await session.endSession();
  await client.withSession((s) => assert.rejects(
    s.withTransaction(() => c.insertOne({_id: "in a transaction"}, {session: s})),
    /retryable writes|Transaction numbers/));
  assert.equal(await c.findOne({_id: "in a transaction"}), null);
});

await step("indexes are made, listed, used, hidden and dropped", async () => {
  assert.equal(await c.createIndex({group: 1, n: -1}), "group_1_n_-1");
  await c.createIndex({text: 1}, {unique: true, name: "unique text", partialFilterExpression: {n: {$gt: 5}}});
  assert.deepEqual((await c.indexes()).map((i) => i.name), ["_id_", "group_1_n_-1", "unique text"]);
  const plan = await c.find({group: 3}).explain("executionStats");
  assert.equal(plan.executionStats.nReturned, 70);
  assert.equal(plan.executionStats.totalKeysExamined, 70);
  await db.command({collMod: "c", index: {name: "group_1_n_-1", hidden: true}});
  assert.equal((await c.find({group: 3}).explain("queryPlanner")).queryPlanner.winningPlan.stage, "COLLSCAN");
  await c.dropIndex("group_1_n_-1");
  assert.equal((await c.indexes()).length, 2);
});

await step("errors come with the codes that applications look at", async () => {
  await fails(11000, c.insertOne({_id: 1}));
  await fails(59, db.command({noSuchCommand: 1}));
  await fails(2, c.find({n: {$foo: 1}}).toArray());
  await db.createCollection("strict", {validator: {$jsonSchema: {required: ["name"]}}});
  await fails(121, db.collection("strict").insertOne({}));
  await fails(26, db.command({collMod: "missing", validationLevel: "off"}));
  const slow = {$expr: {$gt: [{$size: {$filter: {input: {$range: [0, 20_000]}, cond: {$gt: ["$$this", -1]}}}}, 0]}};
  await fails(50, c.find(slow, {maxTimeMS: 50}).toArray());
  const stream = db.watch();
  await assert.rejects(stream.next(), MongoServerError);
});

await step("users change, and so do their rights on open connections", async () => {
  await db.command({createUser: "eve", pwd: "one", roles: ["read"]});
  const eve = connect({username: "eve", password: "one"}, {authSource: "tour"});
  const hers = eve.db("tour").collection("hers");
  assert.equal(await eve.db("tour").collection("c").countDocuments(), 490);
  await fails(13, hers.insertOne({}));
  await db.command({grantRolesToUser: "eve", roles: ["readWrite"]});
  await hers.insertOne({});
  await db.command({updateUser: "eve", pwd: "two"});
  await fails(18, connect({username: "eve", password: "one"}, {authSource: "tour"}).db("tour").command({ping: 1}));
  await connect({username: "eve", password: "two"}, {authSource: "tour"}).db("tour").collection("hers").findOne();
  await db.command({dropUser: "eve"});
  await fails(13, hers.findOne());
});

await step("a read survives a connection that breaks during its handshake", async () => {
  for (const failCommands of [["saslContinue"], ["find"]]) {
    const appName = `retry ${failCommands}`;
    await client.db("admin").command({configureFailPoint: "failCommand", mode: {times: 1}, data: {failCommands, closeConnection: true, appName}});
    const again = connect(admin, {appName, retryReads: true});
    assert.equal((await again.db("tour").collection("c").findOne({_id: 1}))._id, 1);
  }
});

await step("messages are compressed", async () => {
  const squeezed = connect(admin, {compressors: ["zlib"]});
  await squeezed.db("admin").command({ping: 1});
  const received = async () => (await client.db("admin").command({serverStatus: 1})).network.bytesIn;
  const before = Long.fromValue(await received());
  await squeezed.db("tour").collection("big").insertOne({_id: 1, text: "x".repeat(4_000_000)});
  assert.ok(Long.fromValue(await received()).subtract(before).toNumber() < 1_000_000, "four megabytes went over the wire");
  assert.equal((await squeezed.db("tour").collection("big").findOne({_id: 1})).text.length, 4_000_000);
});

await step("under the strict stable API only what is part of it runs", async () => {
  const strict = connect(admin, {serverApi: {version: "1", strict: true}});
  assert.equal(await strict.db("tour").collection("c").countDocuments({group: 1}), 70);
  await fails(323, strict.db("tour").collection("c").distinct("group"));
  await fails(323, strict.db("tour").collection("c").aggregate([{$indexStats: {}}]).toArray());
});

await step("files go in and come out", async () => {
  const bucket = new GridFSBucket(db);
  const content = Buffer.alloc(700_000, "troupe");
  const upload = bucket.openUploadStream("file");
  await new Promise((resolve, reject) => upload.once("finish", resolve).once("error", reject).end(content));
  const parts = [];
  for await (const part of bucket.openDownloadStreamByName("file")) parts.push(part);
  assert.ok(Buffer.concat(parts).equals(content));
});

await Promise.all(clients.map((one) => one.close()));
process.exit(failed === 0 ? 0 : 1);
