// mongosh mongodb://127.0.0.1:27017/demo examples/quick_start/queries.js
print("The largest games:");
db.packages.find({section: "games"}, {_id: 0, name: 1, installedSize: 1}).sort({installedSize: -1}).limit(3).forEach(p => printjson(p));

print("Packages that need both python3 and libc6, by section:");
db.packages.aggregate([
  {$match: {depends: {$all: ["python3", "libc6"]}}},
  {$group: {_id: "$section", packages: {$sum: 1}}},
  {$sort: {packages: -1}},
  {$limit: 3},
]).forEach(row => printjson(row));

print("Does a search by prefix use an index?");
printjson(db.packages.find({name: /^lib/}).explain().queryPlanner.winningPlan);

print("A change, and what it did:");
printjson(db.packages.updateMany({section: "games"}, {$set: {fun: true}}));
