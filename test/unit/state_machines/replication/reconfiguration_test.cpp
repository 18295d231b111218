#include "state_machines/replication/reconfiguration.hpp"

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

ReplicaSetConfig next(ReplicaSetConfig config = kConfig) {
  ++config.version;
  return config;
}
ReplicaSetConfig withMember(ReplicaSetConfig config, const NodeName& host) {
  MemberConfig m;
  m.id = 9;
  m.host = host;
  config.members.push_back(m);
  return config;
}
Report reportOf(const Snapshot<Topology>& now) {
  Report report;
  report.from = now.document.self;
  report.term = now.memory.term;
  if (now.document.config) report.config = now.document.config->configVersion();
  return report;
}
ErrorCode refusal(const Outcome& out) { return answered(out) ? answered(out)->code() : ErrorCode::kOK; }
ErrorCode initiating(const ReplicaSetConfig& config, const NodeName& self = "a:1") {
  return refusal(when(blank(self), Initiate{config, self, {}}));
}

TEST(Initiate, InstallsTheConfigWhenAllMembersAreThere) {  // ELE-037
  Cluster set({"a:1", "b:1", "c:1"});
  EXPECT_FALSE(set.command("a:1", Initiate{kConfig, "a:1", bson::ObjectId{{1}}}));
  EXPECT_EQ(set.phase("a:1"), Phase::kInitiating);
  set.run(Millis(10));
  EXPECT_TRUE(set.concluded("a:1", OpenCommand::kInitiate)->isOK());
  for (const char* host : {"a:1", "b:1", "c:1"}) {
    EXPECT_EQ(set.config(host).version, 1) << host;
    EXPECT_EQ(set.config(host).settings.replicaSetId, bson::ObjectId{{1}}) << host;
    EXPECT_EQ(set.isFounder(host), host == std::string_view("a:1")) << "the others copy its data";
  }
}

TEST(Initiate, FailsWhenAMemberDoesNotAnswer) {
  Cluster set({"a:1", "b:1", "c:1"});
  set.kill("c:1");
  set.command("a:1", Initiate{kConfig, "a:1", {}});
  set.run(Secs(11));
  EXPECT_EQ(set.concluded("a:1", OpenCommand::kInitiate)->code(), ErrorCode::kHostUnreachable);
  EXPECT_NE(set.concluded("a:1", OpenCommand::kInitiate)->reason().find("c:1"), std::string::npos);
  EXPECT_EQ(set.phase("a:1"), Phase::kStartup);
  EXPECT_FALSE(set["b:1"].now.document.config);
}

TEST(Initiate, AsksAgainThoseWhoseAnswerWasLost) {
  Cluster set({"a:1", "b:1", "c:1"});
  set.cut("a:1", "b:1");
  set.command("a:1", Initiate{kConfig, "a:1", {}});
  set.run(Secs(1));
  set.heal();
  set.run(Secs(1));
  EXPECT_TRUE(set.concluded("a:1", OpenCommand::kInitiate)->isOK());
}

TEST(Initiate, FailsWhenAMemberHasAConfigOrIsOfAnotherSet) {
  const Snapshot<Topology> waiting = when(blank("a:1"), Initiate{kConfig, "a:1", {}}).next;
  const Outcome has = when(waiting, shown(memberOf(kConfig, "b:1"), "a:1"));
  EXPECT_EQ(did<Conclude>(has)->outcome.code(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_EQ(phaseAfter(has), Phase::kStartup);
  HeartbeatReply other;
  other.sender.from = "c:1";
  other.refusal = Status(ErrorCode::kInconsistentReplicaSetNames, "c:1 is in the set other");
  EXPECT_EQ(did<Conclude>(when(waiting, other))->outcome.code(), ErrorCode::kInconsistentReplicaSetNames);
}

TEST(Initiate, FailsWhenAMemberHasDataOfItsOwn) {
  const Snapshot<Topology> withData = when(blank("b:1"), OwnData{true}).next;
  const Snapshot<Topology> waiting = when(blank("a:1"), Initiate{kConfig, "a:1", {}}).next;
  const HeartbeatRequest asked{reportOf(waiting), "b:1", "rs"};
  const Outcome heard = when(withData, asked);
  ASSERT_EQ(said<HeartbeatReply>(heard).size(), 1u);
  const Outcome failed = when(waiting, said<HeartbeatReply>(heard)[0].second);
  EXPECT_EQ(did<Conclude>(failed)->outcome.code(), ErrorCode::kCannotInitializeNodeWithData);
  EXPECT_NE(did<Conclude>(failed)->outcome.reason().find("b:1"), std::string::npos);
  EXPECT_EQ(phaseAfter(failed), Phase::kStartup);
}

TEST(Initiate, TakesTheDataOfTheNodeThatIsGivenIt) {
  ReplicaSetConfig config = kConfig;
  config.members.resize(1);
  const Outcome out = when(when(blank("a:1"), OwnData{true}).next, Initiate{config, "a:1", {}});
  EXPECT_TRUE(out.next.document.founder);
  EXPECT_FALSE(out.next.memory.ownData) << "they are the set's now";
}

TEST(Reconfig, ANodeWithDataOfItsOwnJoinsNoSet) {
  const Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  const HeartbeatRequest request{reportOf(primary), "b:1", "rs"};
  EXPECT_EQ(said<HeartbeatRequest>(when(blank("b:1"), request)).size(), 1u) << "an empty one asks for the config";
  const Snapshot<Topology> withData = when(blank("b:1"), OwnData{true}).next;
  const Outcome out = when(withData, request);
  EXPECT_TRUE(said<HeartbeatRequest>(out).empty());
  EXPECT_EQ(said<HeartbeatReply>(out)[0].second.refusal, ErrorCode::kCannotInitializeNodeWithData);
  HeartbeatReply told = shown(primary, "b:1");
  told.newer = kConfig;
  EXPECT_FALSE(when(withData, told).next.document.config);
  EXPECT_TRUE(when(when(withData, OwnData{false}).next, told).next.document.config) << "once it is empty";
}

TEST(Initiate, OfTwoNodesAtOnceNeverMakesTwoSets) {
  Cluster set({"a:1", "b:1", "c:1"});
  set.command("a:1", Initiate{kConfig, "a:1", bson::ObjectId{{1}}});
  set.command("b:1", Initiate{kConfig, "b:1", bson::ObjectId{{2}}});
  set.run(Secs(12));
  EXPECT_FALSE(set["a:1"].now.document.config && set["b:1"].now.document.config);
}

TEST(Initiate, RefusesConfigsThatCannotBeFirst) {  // ELE-037
  EXPECT_EQ(initiating(next()), ErrorCode::kInvalidReplicaSetConfig) << "version 2";
  ReplicaSetConfig config = kConfig;
  config.id = "other";
  EXPECT_EQ(initiating(config), ErrorCode::kInvalidReplicaSetConfig);
  EXPECT_EQ(initiating(kConfig, "x:1"), ErrorCode::kNewReplicaSetConfigurationIncompatible) << "this node is no member";
  config = kConfig;
  config.members[0].priority = 0;
  EXPECT_EQ(initiating(config), ErrorCode::kNodeNotElectable);
  config = kConfig;
  config.settings.replicaSetId = bson::ObjectId{};
  EXPECT_EQ(initiating(config), ErrorCode::kInvalidReplicaSetConfig);
  EXPECT_EQ(refusal(when(memberOf(kConfig, "a:1"), Initiate{kConfig, "a:1", {}})), ErrorCode::kAlreadyInitialized)
      << "there is one already";
}

TEST(Reconfig, IsPersistedAndReachesEveryMember) {  // ELE-037, REP-039
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary();
  ReplicaSetConfig config = next(set.config(primary));
  config.settings.catchUpTakeoverDelayMillis = Millis(5);
  EXPECT_FALSE(set.command(primary, Reconfig{config})) << "answered when a majority has it";
  set.run(Millis(100));
  EXPECT_TRUE(set.concluded(primary, OpenCommand::kReconfig)->isOK());
  for (const char* host : {"a:1", "b:1", "c:1"}) {
    EXPECT_EQ(set.config(host).version, 2) << host;
    EXPECT_EQ(set.config(host).term, set.term()) << host;
    EXPECT_EQ(set.config(host).settings.catchUpTakeoverDelayMillis, Millis(5)) << host;
  }
  EXPECT_EQ(set.primary(), primary);
}

TEST(Reconfig, TheFirstOfATermWaitsUntilAMajorityHoldsThePresentConfigInThisTerm) {
  ReplicaSetConfig config = kConfig;
  config.term = 2;
  Snapshot<Topology> primary = memberOf(config, "a:1", Phase::kPrimary);
  const Outcome asked = when(primary, Reconfig{next()});
  EXPECT_EQ(asked.next.document.config->configVersion(), (ConfigVersion{1, 3})) << "claimed, not yet changed";
  EXPECT_EQ(asked.next.memory.change->stage, ConfigChange::Stage::kClaiming);
  Snapshot<Topology> b = memberOf(*asked.next.document.config, "b:1");
  const Outcome held = when(asked.next, shown(b, "a:1"));
  EXPECT_EQ(held.next.document.config->configVersion(), (ConfigVersion{2, 3}));
  EXPECT_FALSE(did<Conclude>(held));
  const Outcome spread = when(held.next, shown(memberOf(*held.next.document.config, "c:1"), "a:1"));
  EXPECT_TRUE(did<Conclude>(spread)->outcome.isOK());
  EXPECT_FALSE(spread.next.memory.change);
}

/// Between majorities two configs apart there may be no common member: "add d, remove b" would elect d and c without
/// it.
TEST(Reconfig, WaitsUntilWhatWasCommittedIsOnAMajorityOfThePresentConfig) {
  ReplicaSetConfig config = kConfig;
  config.term = 3;
  Snapshot<Topology> primary = memberOf(config, "a:1", Phase::kPrimary);
  primary.memory.applied = primary.memory.durable = opTime(3, 20);
  primary.memory.installedAt = opTime(3, 15);
  const auto has = [&](const char* host, OpTime durable) {
    Snapshot<Topology> member = memberOf(config, host);
    member.memory.applied = opTime(3, 20);
    member.memory.durable = durable;
    return shown(member, "a:1");
  };
  const auto stage = [](const Outcome& out) { return out.next.memory.change->stage; };
  Outcome out = when(primary, Reconfig{next(config)});
  out = when(out.next, has("b:1", opTime(3, 14)));
  EXPECT_EQ(stage(out), ConfigChange::Stage::kClaiming) << "what it had applied when that config was installed";
  out = when(out.next, has("c:1", opTime(2, 99)));
  EXPECT_EQ(stage(out), ConfigChange::Stage::kClaiming) << "nothing of this term";
  out = when(out.next, has("b:1", opTime(3, 15)));
  EXPECT_EQ(stage(out), ConfigChange::Stage::kSpreading);
  EXPECT_EQ(out.next.memory.installedAt, opTime(3, 20));
}

TEST(Reconfig, OnlyOneAtATime) {
  const Snapshot<Topology> waiting = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{next()}).next;
  EXPECT_EQ(refusal(when(waiting, Reconfig{next()})), ErrorCode::kConfigurationInProgress);
}

TEST(Reconfig, FailsWhenThePrimaryStepsDownMeanwhile) {
  const Snapshot<Topology> waiting = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{next()}).next;
  const Outcome out = when(waiting, shown(memberOf(kConfig, "b:1", Phase::kFollower, 4), "a:1"));
  EXPECT_EQ(did<Conclude>(out)->command, OpenCommand::kReconfig);
  EXPECT_EQ(did<Conclude>(out)->outcome.code(), ErrorCode::kPrimarySteppedDown);
  EXPECT_FALSE(out.next.memory.change);
}

TEST(Reconfig, NeedsThePrimaryUnlessForced) {
  EXPECT_EQ(refusal(when(memberOf(kConfig, "b:1"), Reconfig{next()})), ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(refusal(when(blank("b:1"), Reconfig{next()})), ErrorCode::kNotYetInitialized);
  const Outcome out = when(memberOf(kConfig, "b:1"), Reconfig{next(), true, 500});
  EXPECT_TRUE(answered(out)->isOK());
  EXPECT_EQ(out.next.document.config->version, 502) << "outranks what others may have made meanwhile";
  EXPECT_EQ(out.next.document.config->term, ConfigVersion::kNoTerm);
}

/// Others compare a config without a term by its version alone, so that what the primary claims has another version.
TEST(Reconfig, GoesOnFromAConfigThatWasForced) {
  Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  primary.document.config->term = ConfigVersion::kNoTerm;
  const ConfigVersion forced = primary.document.config->configVersion();
  const Outcome out = when(primary, Reconfig{next()});
  ASSERT_TRUE(out.next.memory.change);
  const ConfigVersion claimed = out.next.document.config->configVersion();
  EXPECT_EQ(claimed.term, primary.memory.term);
  EXPECT_TRUE(claimed.isNewerThan(forced));
  EXPECT_TRUE(out.next.memory.change->next.configVersion().isNewerThan(claimed));
}

TEST(Reconfig, TakesThePrimaryItselfOnlyByForce) {
  ReplicaSetConfig without = next();
  without.members.erase(without.members.begin());
  const Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  EXPECT_EQ(refusal(when(primary, Reconfig{without})), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  ReplicaSetConfig demoted = next();
  demoted.members[0].priority = 0;
  EXPECT_EQ(refusal(when(primary, Reconfig{demoted})), ErrorCode::kNodeNotElectable);
  EXPECT_EQ(phaseAfter(when(primary, Reconfig{without, true})), Phase::kRemoved);  // ELE-033
  EXPECT_EQ(phaseAfter(when(primary, Reconfig{demoted, true})), Phase::kFollower);
}

TEST(Reconfig, ANewerConfigThatRemovesOrDemotesThePrimaryMakesItStepDown) {  // ELE-033
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = next();
  news.newer->members[0].priority = 0;
  for (const Phase phase : {Phase::kPrimary, Phase::kDraining, Phase::kCatchingUp}) {
    const Outcome out = when(memberOf(kConfig, "a:1", phase), news);
    EXPECT_EQ(phaseAfter(out), Phase::kFollower);
    EXPECT_EQ(out.next.document.config->version, 2);
    EXPECT_TRUE(did<InterruptOperations>(out));
  }
  news.newer->members.erase(news.newer->members.begin());
  EXPECT_EQ(phaseAfter(when(memberOf(kConfig, "a:1", Phase::kPrimary), news)), Phase::kRemoved);
}

TEST(Reconfig, DoesNotComeIntoAStepUp) {
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = next();
  const Outcome out = when(memberOf(kConfig, "a:1", Phase::kDraining), news);
  EXPECT_EQ(out.next.document.config->version, 1);
  EXPECT_EQ(phaseAfter(out), Phase::kDraining);
  EXPECT_EQ(when(memberOf(kConfig, "a:1", Phase::kPrimary), news).next.document.config->version, 2);
}

TEST(Reconfig, EndsAnElectionUnderTheOldConfig) {
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = next();
  const Snapshot<Topology> dry = when(memberOf(kConfig, "a:1"), ElectionTimeout{}).next;
  EXPECT_EQ(phaseAfter(when(dry, news)), Phase::kFollower);
}

TEST(Reconfig, OlderConfigsAndThoseOfOtherSetsAreNotTaken) {
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = kConfig;
  EXPECT_FALSE(when(memberOf(next(), "a:1"), news).persist);
  news.newer = next();
  news.newer->settings.replicaSetId = bson::ObjectId{{7}};
  EXPECT_FALSE(when(memberOf(kConfig, "a:1"), news).persist);
  news.newer = next();
  news.newer->id = "other";
  EXPECT_FALSE(when(memberOf(kConfig, "a:1"), news).persist);
}

ReplicaSetConfig ofOne() {
  ReplicaSetConfig config = kConfig;
  config.members.resize(1);
  return config;
}
constexpr auto reconfigOutcome = [](Cluster& set, const NodeName& node) {
  return set.concluded(node, OpenCommand::kReconfig);
};

// A mistyped name with a vote would leave a set of one without a primary.
TEST(Reconfig, IsNotInstalledWhereTheNewConfigWouldHaveNoPrimary) {
  Cluster set = Cluster::running(ofOne());
  EXPECT_FALSE(set.command("a:1", Reconfig{withMember(next(ofOne()), "x:1")}));
  set.run(Secs(9));
  EXPECT_FALSE(reconfigOutcome(set, "a:1")) << "it may be slow to answer";
  set.run(Secs(2));
  ASSERT_TRUE(reconfigOutcome(set, "a:1"));
  EXPECT_EQ(reconfigOutcome(set, "a:1")->code(), ErrorCode::kNodeNotFound);
  EXPECT_NE(reconfigOutcome(set, "a:1")->reason().find("x:1"), std::string::npos);
  EXPECT_FALSE(set.config("a:1").has("x:1"));
  EXPECT_EQ(set.phase("a:1"), Phase::kPrimary);
  set.forget();
  set.add("d:1");
  set.command("a:1", Reconfig{withMember(next(set.config("a:1")), "d:1")});
  set.run(Secs(1));
  EXPECT_TRUE(reconfigOutcome(set, "a:1")->isOK()) << "another one may follow";
}

TEST(Reconfig, AMemberThatIsDownIsAddedIfTheOthersAreAMajorityWithoutIt) {
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary();
  set.command(primary, Reconfig{withMember(next(set.config(primary)), "d:1")});
  set.run(Millis(500));
  EXPECT_FALSE(reconfigOutcome(set, primary)) << "it may have a reason to refuse";
  set.run(Secs(1));
  ASSERT_TRUE(reconfigOutcome(set, primary));
  EXPECT_TRUE(reconfigOutcome(set, primary)->isOK());
  EXPECT_TRUE(set.config(primary).has("d:1"));
}

TEST(Reconfig, AMemberThatIsDownIsNotAddedBesideAnotherOne) {
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), dead = set.others().front();
  set.kill(dead);
  set.run(Secs(3));
  ASSERT_EQ(set.phase(primary), Phase::kPrimary);
  set.command(primary, Reconfig{withMember(next(set.config(primary)), "d:1")});
  set.run(Secs(11));
  ASSERT_TRUE(reconfigOutcome(set, primary));
  EXPECT_EQ(reconfigOutcome(set, primary)->code(), ErrorCode::kNodeNotFound);
  EXPECT_NE(reconfigOutcome(set, primary)->reason().find(dead + ", d:1"), std::string::npos);
}

// It counts as alive for an election timeout: for that long others tell of it.
TEST(Reconfig, AMemberThatHasJustDiedIsNotThere) {
  const Snapshot<Topology> primary = when(memberOf(kConfig, "a:1", Phase::kPrimary), Unreachable{"c:1"}).next;
  const Outcome asks = when(primary, Reconfig{withMember(next(), "d:1")});
  const Outcome late = when(asks.next, MembersDeadline{});
  EXPECT_EQ(did<Conclude>(late)->outcome.code(), ErrorCode::kNodeNotFound);
  EXPECT_NE(did<Conclude>(late)->outcome.reason().find("c:1, d:1"), std::string::npos);
  EXPECT_EQ(late.next.document.config->version, 1);
  ReplicaSetConfig without = next();
  std::erase_if(without.members, [](const auto& member) { return member.host == "b:1"; });
  EXPECT_EQ(refusal(when(primary, Reconfig{without})), ErrorCode::kNodeNotFound);
}

TEST(Reconfig, WaitsNoLongerForTheRestOnceThereIsAMajority) {
  ReplicaSetConfig two = withMember(next(ofOne()), "d:1");
  two = withMember(two, "x:1");
  two.members.back().id = 10;
  two.members.back().votes = 0;
  two.members.back().priority = 0;
  Cluster set = Cluster::running(ofOne());
  set.add("d:1");
  set.command("a:1", Reconfig{two});
  set.run(Secs(3));
  ASSERT_TRUE(reconfigOutcome(set, "a:1"));
  EXPECT_TRUE(reconfigOutcome(set, "a:1")->isOK());
}

TEST(Reconfig, ForceEndsTheQuestions) {
  const Outcome asks = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{withMember(next(), "d:1")});
  const Outcome forced = when(asks.next, Reconfig{next(), true, 0});
  EXPECT_EQ(did<Conclude>(forced)->outcome.code(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_TRUE(forced.next.memory.awaited.empty());
  EXPECT_FALSE(forced.next.memory.change);
  const Outcome late = when(forced.next, MembersDeadline{});
  EXPECT_TRUE(late.next.memory == forced.next.memory) << "a deadline that was on its way changes nothing";
  EXPECT_TRUE(late.effects.empty());
}

TEST(Reconfig, FailsAtOnceWhenANewMemberRefuses) {
  const Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  const Outcome asks = when(primary, Reconfig{withMember(next(), "d:1")});
  EXPECT_EQ(asks.next.memory.change->stage, ConfigChange::Stage::kAsking);
  EXPECT_EQ(asks.next.document.config->version, 1);
  ASSERT_EQ(said<HeartbeatRequest>(asks).size(), 1u) << "the others are asked nothing";
  const auto [host, question] = said<HeartbeatRequest>(asks)[0];
  EXPECT_EQ(host, "d:1");
  const Outcome refuses = when(when(blank("d:1"), OwnData{true}).next, question);
  const Outcome failed = when(asks.next, said<HeartbeatReply>(refuses)[0].second);
  EXPECT_EQ(did<Conclude>(failed)->outcome.code(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_NE(did<Conclude>(failed)->outcome.reason().find("d:1 has data of its own"), std::string::npos);
  EXPECT_FALSE(failed.next.memory.change);
  EXPECT_EQ(failed.next.document.config->version, 1);
}

// It would be REMOVED before it is added.
TEST(Reconfig, ANewMemberThatIsAskedTakesNoConfig) {
  const Outcome asks = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{withMember(next(), "d:1")});
  const Outcome asked = when(blank("d:1"), said<HeartbeatRequest>(asks)[0].second);
  EXPECT_TRUE(said<HeartbeatRequest>(asked).empty()) << "it does not ask for the config";
  EXPECT_EQ(phaseAfter(asked), Phase::kStartup);
}

TEST(Reconfig, AQuestionThatWasLostIsAskedAgain) {
  Cluster set = Cluster::running(ofOne());
  set.add("d:1");
  set.cut("a:1", "d:1");
  set.command("a:1", Reconfig{withMember(next(ofOne()), "d:1")});
  set.run(Secs(1));
  set.heal();
  set.run(Secs(3));
  ASSERT_TRUE(reconfigOutcome(set, "a:1"));
  EXPECT_TRUE(reconfigOutcome(set, "a:1")->isOK());
}

TEST(Reconfig, ThatAsksEndsWithTheLeadership) {
  const Outcome asks = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{withMember(next(), "d:1")});
  Snapshot<Topology> other = memberOf(kConfig, "b:1", Phase::kPrimary, 4);
  const Outcome down = when(asks.next, shown(other, "a:1"));
  EXPECT_EQ(did<Conclude>(down)->outcome.code(), ErrorCode::kPrimarySteppedDown);
  EXPECT_TRUE(down.next.memory.awaited.empty());
}

TEST(Reconfig, AddsAndRemovesMembersOneByOne) {
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), gone = set.others().front();
  set.add("d:1");
  set.command(primary, Reconfig{withMember(next(set.config(primary)), "d:1")});
  set.run(Secs(1));
  EXPECT_TRUE(set.concluded(primary, OpenCommand::kReconfig)->isOK());
  EXPECT_EQ(set.phase("d:1"), Phase::kFollower);
  ReplicaSetConfig config = next(set.config(primary));
  std::erase_if(config.members, [&](const auto& m) { return m.host == gone; });
  set.forget();
  set.command(primary, Reconfig{config});
  set.run(Secs(2));
  EXPECT_TRUE(set.concluded(primary, OpenCommand::kReconfig)->isOK());
  EXPECT_EQ(set.phase(gone), Phase::kRemoved);
  EXPECT_EQ(stateOf(set[gone].now), MemberState::kRemoved);
  set.kill(primary);
  EXPECT_FALSE(set.runUntilPrimary().empty()) << "two of the three that are left";
}

TEST(Reconfig, ACopyOfAMemberIsGivenItsNewNameByForce) {
  ReplicaSetConfig config = next(configOf({"new:1"}));
  Reconfig command{config, true};
  EXPECT_EQ(phaseAfter(when(memberOf(kConfig, "a:1"), command)), Phase::kRemoved);
  command.self = "new:1";
  const Outcome out = when(memberOf(kConfig, "a:1"), command);
  EXPECT_EQ(out.next.document.self, "new:1");
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
  config.members.push_back({.id = 7, .host = "a:1", .tags = {}});
  command.config = config;
  EXPECT_EQ(when(memberOf(kConfig, "a:1"), command).next.document.self, "a:1") << "the config has the old one";
}

TEST(Reconfig, AfterAForcedRemovalOfThePrimaryTheOthersElectANewOne) {  // ELE-033
  Cluster set = Cluster::running(kConfig);
  const NodeName old = set.primary();
  ReplicaSetConfig config = next(set.config(old));
  std::erase_if(config.members, [&](const auto& m) { return m.host == old; });
  EXPECT_TRUE(set.command(set.others().front(), Reconfig{config, true})->isOK());
  set.run(Secs(4));
  EXPECT_EQ(set.phase(old), Phase::kRemoved);
  EXPECT_NE(set.primary(), old);
  EXPECT_FALSE(set.primary().empty());
}

TEST(Reconfig, AMemberThatMissedItLearnsItWhenItIsBack) {  // REP-039
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), late = set.others().front();
  set.kill(late);
  set.command(primary, Reconfig{next(set.config(primary))});
  set.run(Secs(1));
  set.restart(late);
  set.run(Secs(1));
  EXPECT_EQ(set.config(late).version, 2);
}

TEST(Reconfig, AnArbiterVotesAndTheSetGoesOn) {
  ReplicaSetConfig config = kConfig;
  config.members[2].arbiterOnly = true;
  config.members[2].priority = 0;
  Cluster set = Cluster::running(config);
  EXPECT_EQ(set.phase("c:1"), Phase::kArbiter);
  const NodeName primary = set.primary(), other = primary == "a:1" ? "b:1" : "a:1";
  set.kill(primary);
  EXPECT_EQ(set.runUntilPrimary(), other);
  EXPECT_EQ(set.phase("c:1"), Phase::kArbiter);
}

TEST(Reconfig, TwoNodesThatCannotSeeEachOtherDoNotTakeTurnsAtAnArbiter) {  // ELE-016
  ReplicaSetConfig config = kConfig;
  config.members[2].arbiterOnly = true;
  config.members[2].priority = 0;
  Cluster set = Cluster::running(config);
  const NodeName primary = set.primary();
  const int64_t term = set.term();
  set.cut("a:1", "b:1");
  set.run(Secs(30));
  EXPECT_EQ(set.primary(), primary);
  EXPECT_EQ(set.term(), term);
}

}  // namespace
}  // namespace troupe::replication::test
