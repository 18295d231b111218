// What administrators type into mongosh on a secondary, connected with it alone.
//   TROUPE_MEMBERS=HOST:PORT,HOST:PORT,HOST:PORT mongosh --quiet --norc mongodb://SECOND/?directConnection=true mongosh_steps.js mongosh_secondary_tour.js
// Prints "ok NAME" or "FAIL NAME: reason" for each step.
const hosts = process.env.TROUPE_MEMBERS.split(",");

step("it is read from, and writes nothing", () => {
  eventually("it is a secondary", () => db.hello().secondary);
  equal(db.getSiblingDB("tour").c.countDocuments(), 1);
  fails(10107, () => db.getSiblingDB("tour").c.insertOne({_id: 2}));
  equal(db.getSiblingDB("tour").c.find().toArray(), [{_id: 1}]);
});

step("rs.syncFrom chooses a source", () => {
  equal(rs.syncFrom(hosts[2]).syncFromRequested, hosts[2]);
});

step("rs.freeze keeps it from standing", () => {
  equal(rs.freeze(60).ok, 1);
  equal(rs.freeze(0).ok, 1);
});

step("maintenance takes it out of service", () => {
  equal(db.adminCommand({replSetMaintenance: true}).ok, 1);
  equal(rs.status().myState, 3);
  fails(13436, () => db.getSiblingDB("tour").c.findOne());
  equal(db.adminCommand({replSetMaintenance: false}).ok, 1);
  equal(rs.status().myState, 2);
});

step("what it refuses does not disturb what follows", () => {
  for (const refused of [() => rs.stepDown(), () => rs.remove(hosts[2]), () => rs.reconfig(rs.conf())]) {
    const begun = Date.now();
    fails(10107, refused);
    equal(rs.status().myState, 2);
    if (Date.now() - begun > 5000) throw new Error("the driver has looked for another member");
  }
  fails(95, () => db.adminCommand({resync: 1}));
});

step("it shows the log and the others", () => {
  equal(db.getReplicationInfo().configuredLogSizeMB, 990);
  equal(Object.keys(rs.printSecondaryReplicationInfo().value).includes(`source: ${hosts[1]}`), true);
});
