// What administrators type into mongosh to make a replica set, to change it, and to see what its log holds.
//   TROUPE_MEMBERS=HOST:PORT,HOST:PORT,HOST:PORT,HOST:PORT mongosh --quiet --norc mongodb://FIRST/?directConnection=true mongosh_steps.js mongosh_set_tour.js
// Prints "ok NAME" or "FAIL NAME: reason" for each step.
const hosts = process.env.TROUPE_MEMBERS.split(",");

const stateOf = (host) => rs.status().members.find((member) => member.name === host).stateStr;
const helloOf = (host) => new Mongo(`mongodb://${host}/?directConnection=true`).getDB("admin").hello();

step("a member without a config says so", () => {
  fails(94, () => rs.status());
  equal(db.hello().isreplicaset, true);
  equal([db.hello().isWritablePrimary, db.hello().secondary], [false, false]);
});

step("rs.initiate makes a set", () => {
  const members = hosts.slice(0, 3).map((host, _id) => ({_id, host, priority: _id === 0 ? 2 : 1}));
  equal(rs.initiate({_id: "rs", members, settings: {electionTimeoutMillis: 2000, heartbeatIntervalMillis: 500}}).ok, 1);
  eventually("a primary", () => db.hello().isWritablePrimary);
  eventually("data everywhere", () => hosts.slice(1, 3).every((host) => stateOf(host) === "SECONDARY"));
  fails(23, () => rs.initiate());
});

step("rs.status shows members and times", () => {
  const status = rs.status();
  equal([status.set, status.myState, status.members.length, status.majorityVoteCount], ["rs", 1, 3, 2]);
  equal(status.members.map((member) => [member._id, member.name, member.health, member.stateStr]),
        [[0, hosts[0], 1, "PRIMARY"], [1, hosts[1], 1, "SECONDARY"], [2, hosts[2], 1, "SECONDARY"]]);
  equal(["optime", "optimeDate", "uptime", "configVersion", "configTerm"].every((name) => name in status.members[1]), true);
  equal(["lastCommittedOpTime", "appliedOpTime", "durableOpTime"].every((name) => name in status.optimes), true);
  equal(status.members[0].self, true);
});

step("db.hello tells of the set", () => {
  const hello = db.hello();
  equal([hello.setName, hello.hosts, hello.primary, hello.me], ["rs", hosts.slice(0, 3), hosts[0], hosts[0]]);
  equal(rs.isMaster().ismaster, true);
});

step("rs.conf can be changed and given to rs.reconfig", () => {
  const config = rs.conf();
  equal([config.version, rs.config().version], [1, 1]);
  config.members[1].priority = 0.5;
  config.members[1].tags = {rack: "b"};
  equal(rs.reconfig(config).ok, 1);
  equal([rs.conf().version, rs.conf().members[1].priority, rs.conf().members[1].tags], [2, 0.5, {rack: "b"}]);
});

step("a member can be hidden and delayed", () => {
  const config = rs.conf();
  Object.assign(config.members[2], {priority: 0, hidden: true, secondaryDelaySecs: 2});
  rs.reconfig(config);
  equal(db.hello().hosts, hosts.slice(0, 2));
  eventually("the member knows", () => helloOf(hosts[2]).hidden);
  equal(Number(helloOf(hosts[2]).secondaryDelaySecs), 2);
  db.getSiblingDB("tour").c.insertOne({_id: 1}, {writeConcern: {w: 3, wtimeout: 60000}});
  Object.assign(config.members[2], {priority: 1, hidden: false, secondaryDelaySecs: 0});
  rs.reconfig(Object.assign(config, {version: rs.conf().version}));
});

step("rs.add and rs.remove", () => {
  equal(rs.add(hosts[3]).ok, 1);
  eventually("it has data", () => stateOf(hosts[3]) === "SECONDARY");
  equal(rs.conf().members.map((member) => member._id), [0, 1, 2, 3]);
  equal(rs.remove(hosts[3]).ok, 1);
  eventually("it knows", () => helloOf(hosts[3]).info === "this node was removed from its replica set");
  equal(rs.add({host: hosts[3], priority: 0, votes: 0}).ok, 1);
  eventually("it is back", () => stateOf(hosts[3]) === "SECONDARY");
  equal(Number(rs.status().votingMembersCount), 3);
  fails(103, () => rs.add(hosts[3]));
  rs.remove(hosts[3]);
});

step("the log and how far members are behind it", () => {
  equal(db.getReplicationInfo().configuredLogSizeMB, 990);
  equal(db.adminCommand({replSetResizeOplog: 1, size: 1500}).ok, 1);
  equal(db.getReplicationInfo().configuredLogSizeMB, 1500);
  equal(rs.printReplicationInfo().value["configured oplog size"], "1500 MB");
  const sources = rs.printSecondaryReplicationInfo().value;
  equal(hosts.slice(1, 3).every((host) => `source: ${host}` in sources), true);
  equal(sources[`source: ${hosts[1]}`].replLag.includes("behind the primary"), true);
});

step("rs.freeze and rs.syncFrom are for secondaries", () => {
  fails(95, () => rs.freeze(10));
  fails(95, () => rs.syncFrom(hosts[1]));
});

step("rs.stepDown gives the place to another member", () => {
  equal(rs.stepDown(20, 10).ok, 1);
  eventually("another primary", () => ![undefined, hosts[0]].includes(db.hello().primary));
  fails(10107, () => rs.add(hosts[3]));
  rs.freeze(0);
  eventually("the preferred one leads again", () => db.hello().isWritablePrimary);
});
