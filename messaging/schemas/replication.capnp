@0xd3a1c58e70b94f26;
# Messages between members of a replica set about elections and the config.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("troupe::schema");

struct OpTime {
  # The place of an operation in the history of a replica set.
  term @0 :Int64;        # of the primary that wrote it
  timestamp @1 :UInt64;  # its time: seconds in the upper half, counter in the lower
}

struct ConfigVersion {
  # Tells which of two configs is newer.
  version @0 :Int64;  # 0 for no config
  term @1 :Int64;     # of the primary that installed it; -1 for a forced one
}

struct Tag {
  # One tag of a member.
  key @0 :Text;    # its name
  value @1 :Text;  # its value
}

struct MemberConfig {
  # One member of a replica set, as operators configure it.
  id @0 :Int32;                  # unique in the set
  host @1 :Text;                 # "host:port"
  priority @2 :Float64;          # 0 for a member that never becomes primary
  votes @3 :Int32;               # 0 or 1
  arbiterOnly @4 :Bool;          # votes and holds no data
  hidden @5 :Bool;               # not shown to drivers
  buildIndexes @6 :Bool;         # whether it builds secondary indexes
  secondaryDelaySecs @7 :Int64;  # how far it stays behind
  tags @8 :List(Tag);            # for write concerns and read preferences
}

struct ReplicaSetSettings {
  # Settings of the whole set.
  chainingAllowed @0 :Bool;         # secondaries may replicate from secondaries
  heartbeatInterval @1 :Int64;      # milliseconds
  heartbeatTimeoutSecs @2 :Int32;   # seconds
  electionTimeout @3 :Int64;        # milliseconds
  catchUpTimeout @4 :Int64;         # milliseconds; -1 for as long as it takes
  catchUpTakeoverDelay @5 :Int64;   # milliseconds; -1 for never
  getLastErrorModes @6 :Data;       # a document
  getLastErrorDefaults @7 :Data;    # a document
  replicaSetId @8 :Data;            # an ObjectId; absent until initiated
}

struct ReplicaSetConfig {
  # The members of a replica set and how they deal with each other.
  id @0 :Text;                                  # the name of the set
  version @1 :Int64;                            # grows with each reconfiguration
  term @2 :Int64;                               # of the primary that installed it
  members @3 :List(MemberConfig);               # at most 50
  configServer @4 :Bool;                        # of a sharded cluster
  writeConcernMajorityJournalDefault @5 :Bool;  # whether majority writes are journaled
  settings @6 :ReplicaSetSettings;              # what holds for the whole set
}

struct Heard {
  # A member's report about a third one.
  host @0 :Text;       # of whom
  distance @1 :Int32;  # 0 if the teller heard from it itself, 1 if from someone who did, and so on
  applied @2 :OpTime;  # its last operation
}

struct Report {
  # A member's report about itself in each heartbeat.
  from @0 :Text;             # the sender
  term @1 :Int64;            # its term
  config @2 :ConfigVersion;  # which config it has
  state @3 :Text;            # what it is: PRIMARY, SECONDARY and so on
  applied @4 :OpTime;        # its last operation
  primary @5 :Text;          # whom it takes for the primary; empty for nobody
  others @6 :List(Heard);    # the voters it hears of
}

struct HeartbeatRequest {
  # A sign of life, answered by HeartbeatReply (REP-035, REP-036).
  sender @0 :Report;   # of whom
  to @1 :Text;         # how the sender calls the receiver
  setName @2 :Text;    # the set both should be in
}

struct HeartbeatReply {
  # The answer to a heartbeat (REP-038).
  sender @0 :Report;            # of whom
  to @1 :Text;                  # who asked
  setName @2 :Text;             # the answering node's set
  newer @3 :ReplicaSetConfig;   # its config, if the asker's is older
  refusal @4 :Refusal;          # set if the heartbeat was not accepted
}

struct Refusal {
  # Why something was refused.
  code @0 :Int32;     # as in the table of errors; 0 if it was not
  reason @1 :Text;    # what to do about it
  extra @2 :Data;     # further fields, as a document
}

struct VoteRequest {
  # A candidate asks for a vote (ELE-009).
  from @0 :Text;             # the candidate
  setName @1 :Text;          # its set
  term @2 :Int64;            # in which it stands; for a dry run the one before
  config @3 :ConfigVersion;  # which config it has
  applied @4 :OpTime;        # its last operation
  dryRun @5 :Bool;           # whether it only asks whether it would be elected
  leaderless @6 :Bool;       # whether it stands because it sees no primary
}

struct VoteReply {
  # The answer to a VoteRequest; a vote given is durable.
  from @0 :Text;      # the voter
  term @1 :Int64;     # of the voter, after it has seen the request's
  dryRun @2 :Bool;    # as asked
  granted @3 :Bool;   # whether the candidate has the vote
  reason @4 :Text;    # why not
}

struct StepUpRequest {
  # A primary that steps down asks the receiver to take over at once (ELE-005).
  from @0 :Text;   # the primary
  term @1 :Int64;  # in which it steps down
}
