#include "test/unit/state_machines/replication/reconfig_kit.hpp"

namespace troupe::replication::test {
namespace {

ErrorCode initiating(const ReplicaSetConfig& config, const NodeName& self = "a:1") {
  return refusalIn(when(blank(self), Initiate{config, self, {}}));
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
  EXPECT_EQ(initiating(nextOf()), ErrorCode::kInvalidReplicaSetConfig) << "version 2";
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
  EXPECT_EQ(refusalIn(when(memberOf(kConfig, "a:1"), Initiate{kConfig, "a:1", {}})), ErrorCode::kAlreadyInitialized)
      << "there is one already";
}

TEST(Reconfig, IsPersistedAndReachesEveryMember) {  // ELE-037, REP-039
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary();
  ReplicaSetConfig config = nextOf(set.config(primary));
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
  const Outcome asked = when(primary, Reconfig{nextOf()});
  EXPECT_EQ(asked.next.document.config->configVersion(), (ConfigVersion{1, 3})) << "claimed, not yet changed";
  EXPECT_EQ(asked.next.memory.change->stage, ConfigChange::Stage::kClaiming);
  Snapshot<Topology> b = memberOf(*asked.next.document.config, "b:1");
  const Outcome held = when(inUse(asked).next, shown(b, "a:1"));
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
  primary.memory.inUseFrom = opTime(3, 15);
  const auto has = [&](const char* host, OpTime durable) {
    Snapshot<Topology> member = memberOf(config, host);
    member.memory.applied = opTime(3, 20);
    member.memory.durable = durable;
    return shown(member, "a:1");
  };
  ReplicaSetConfig next = nextOf(config);
  next.members[2].priority = 0;
  Outcome out = when(primary, Reconfig{next});
  out = when(out.next, has("b:1", opTime(3, 14)));
  EXPECT_EQ(stageOf(out), ConfigChange::Stage::kClaiming) << "what it had applied when that config came into use";
  out = when(out.next, has("c:1", opTime(2, 99)));
  EXPECT_EQ(stageOf(out), ConfigChange::Stage::kClaiming) << "nothing of this term";
  out = when(out.next, has("b:1", opTime(3, 15)));
  EXPECT_EQ(stageOf(out), ConfigChange::Stage::kSpreading);
  EXPECT_FALSE(out.next.memory.inUseFrom) << "it is written down first";
  EXPECT_EQ(inUse(out, opTime(3, 21)).next.memory.inUseFrom, opTime(3, 21));
}

/// What the machine knows of its own data is some time old, and while a config is written down majorities of the one
/// before go on to commit: an entry that "a", "b" and "c" have would be missing once "c" and "b" are removed.
TEST(Reconfig, WaitsForWhatWasCommittedBeforeThePresentConfigWasInUse) {
  ReplicaSetConfig config = configOf({"a:1", "b:1", "c:1", "d:1", "e:1"});
  config.term = 3;
  Snapshot<Topology> primary = memberOf(config, "a:1", Phase::kPrimary);
  primary.memory.applied = primary.memory.durable = opTime(3, 6);
  primary.memory.inUseFrom = opTime(3, 1);
  for (MemberView& view : primary.memory.members) view.applied = view.durable = opTime(3, 6);
  const auto without = [](ReplicaSetConfig next, const NodeName& host) {
    std::erase_if(next.members, [&](const MemberConfig& member) { return member.host == host; });
    return nextOf(next);
  };
  const auto has = [](const Outcome& now, const char* host, uint32_t seconds) {
    Snapshot<Topology> member = memberOf(*now.next.document.config, host);
    member.memory.applied = member.memory.durable = opTime(3, seconds);
    return when(now.next, shown(member, "a:1"));
  };
  Outcome out = when(primary, Reconfig{without(config, "c:1")});
  out = has(has(out, "b:1", 6), "d:1", 6);
  ASSERT_FALSE(out.next.memory.change) << "the first one is over";
  out = when(out.next, Reconfig{without(*out.next.document.config, "b:1")});
  ASSERT_TRUE(out.next.memory.change) << "nobody has said what was committed meanwhile";
  EXPECT_TRUE(did<InstallConfig>(out)) << "it asks once more";
  out = when(out.next, ConfigInUse{config.configVersion(), opTime(3, 8)});
  EXPECT_FALSE(out.next.memory.inUseFrom) << "that is of the config before";
  out = inUse(out, opTime(3, 10));
  out = has(when(out.next, AppliedAdvanced{opTime(3, 10), opTime(3, 10), {}}), "b:1", 10);
  EXPECT_EQ(stageOf(out), ConfigChange::Stage::kClaiming) << "two of four";
  out = has(out, "d:1", 10);
  EXPECT_EQ(stageOf(out), ConfigChange::Stage::kSpreading);
  EXPECT_FALSE(out.next.document.config->has("b:1"));
}

/// What comes of an action may be lost with the phase that it belongs to.
TEST(Reconfig, AsksAgainWhetherTheConfigIsInUseWhenAStepDownIsGivenBack) {
  ReplicaSetConfig config = kConfig;
  config.term = 3;
  const Outcome asked = when(memberOf(config, "a:1", Phase::kPrimary), Reconfig{nextOf(config)});
  const Snapshot<Topology> steppingDown = when(asked.next, StepDown{}).next;
  const Outcome back = when(steppingDown, StepDownDeadline{});
  EXPECT_EQ(phaseAfter(back), Phase::kPrimary);
  EXPECT_TRUE(did<InstallConfig>(back));
  const Snapshot<Topology> told = inUse(asked, opTime(3, 9)).next;
  EXPECT_FALSE(did<InstallConfig>(when(when(told, StepDown{}).next, StepDownDeadline{})));
}

TEST(Reconfig, OnlyOneAtATime) {
  const Snapshot<Topology> waiting = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{nextOf()}).next;
  EXPECT_EQ(refusalIn(when(waiting, Reconfig{nextOf()})), ErrorCode::kConfigurationInProgress);
}

TEST(Reconfig, FailsWhenThePrimaryStepsDownMeanwhile) {
  const Snapshot<Topology> waiting = when(memberOf(kConfig, "a:1", Phase::kPrimary), Reconfig{nextOf()}).next;
  const Outcome out = when(waiting, shown(memberOf(kConfig, "b:1", Phase::kFollower, 4), "a:1"));
  EXPECT_EQ(did<Conclude>(out)->command, OpenCommand::kReconfig);
  EXPECT_EQ(did<Conclude>(out)->outcome.code(), ErrorCode::kPrimarySteppedDown);
  EXPECT_FALSE(out.next.memory.change);
}

TEST(Reconfig, NeedsThePrimaryUnlessForced) {
  EXPECT_EQ(refusalIn(when(memberOf(kConfig, "b:1"), Reconfig{nextOf()})), ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(refusalIn(when(blank("b:1"), Reconfig{nextOf()})), ErrorCode::kNotYetInitialized);
  const Outcome out = when(memberOf(kConfig, "b:1"), Reconfig{nextOf(), true, 500});
  EXPECT_TRUE(answered(out)->isOK());
  EXPECT_EQ(out.next.document.config->version, 502) << "outranks what others may have made meanwhile";
  EXPECT_EQ(out.next.document.config->term, ConfigVersion::kNoTerm);
}

/// Others compare a config without a term by its version alone, so that what the primary claims has another version.
TEST(Reconfig, GoesOnFromAConfigThatWasForced) {
  Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  primary.document.config->term = ConfigVersion::kNoTerm;
  const ConfigVersion forced = primary.document.config->configVersion();
  const Outcome out = when(primary, Reconfig{nextOf()});
  ASSERT_TRUE(out.next.memory.change);
  const ConfigVersion claimed = out.next.document.config->configVersion();
  EXPECT_EQ(claimed.term, primary.memory.term);
  EXPECT_TRUE(claimed.isNewerThan(forced));
  EXPECT_TRUE(out.next.memory.change->next.configVersion().isNewerThan(claimed));
}

TEST(Reconfig, TakesThePrimarysCandidacyOnlyByForceAndItsPlaceNotAtAll) {
  ReplicaSetConfig without = nextOf();
  without.members.erase(without.members.begin());
  const Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  EXPECT_EQ(refusalIn(when(primary, Reconfig{without})), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  ReplicaSetConfig demoted = nextOf();
  demoted.members[0].priority = 0;
  EXPECT_EQ(refusalIn(when(primary, Reconfig{demoted})), ErrorCode::kNodeNotElectable);
  EXPECT_EQ(refusalIn(when(primary, Reconfig{without, true})), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_EQ(phaseAfter(when(primary, Reconfig{demoted, true})), Phase::kFollower);
}

/// The last member that is left would be gone, for a mistyped name.
TEST(Reconfig, ByForceHasToNameTheNodeThatIsGivenIt) {
  const Outcome out = when(memberOf(kConfig, "a:1"), Reconfig{nextOf(configOf({"127.0.0.1:1"})), true, 0, "a:1"});
  ASSERT_TRUE(answered(out));
  EXPECT_EQ(answered(out)->code(), ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_EQ(answered(out)->reason(), "no member of the new config is this node, a:1");
  EXPECT_EQ(out.next.document.config->version, 1);
  EXPECT_EQ(phaseAfter(out), Phase::kFollower);
}

TEST(Reconfig, AMemberThatItRemovesSaysSo) {
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = nextOf();
  news.newer->members.erase(news.newer->members.begin());
  for (const Phase phase : {Phase::kFollower, Phase::kPrimary}) {
    const Outcome out = when(memberOf(kConfig, "a:1", phase), news);
    ASSERT_EQ(phaseAfter(out), Phase::kRemoved);
    EXPECT_EQ(did<AnnounceRole>(out)->why, "the new config, version 2, does not name it");
  }
}

TEST(Reconfig, ANewerConfigThatRemovesOrDemotesThePrimaryMakesItStepDown) {  // ELE-033
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = nextOf();
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
  news.newer = nextOf();
  const Outcome out = when(memberOf(kConfig, "a:1", Phase::kDraining), news);
  EXPECT_EQ(out.next.document.config->version, 1);
  EXPECT_EQ(phaseAfter(out), Phase::kDraining);
  EXPECT_EQ(when(memberOf(kConfig, "a:1", Phase::kPrimary), news).next.document.config->version, 2);
}

TEST(Reconfig, EndsAnElectionUnderTheOldConfig) {
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = nextOf();
  const Snapshot<Topology> dry = when(memberOf(kConfig, "a:1"), ElectionTimeout{}).next;
  EXPECT_EQ(phaseAfter(when(dry, news)), Phase::kFollower);
}

TEST(Reconfig, OlderConfigsAndThoseOfOtherSetsAreNotTaken) {
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = kConfig;
  EXPECT_FALSE(when(memberOf(nextOf(), "a:1"), news).persist);
  news.newer = withId(nextOf(), kOtherId);
  EXPECT_FALSE(when(memberOf(withId(kConfig, kOwnId), "a:1"), news).persist);
  news.newer = nextOf();
  news.newer->id = "other";
  EXPECT_FALSE(when(memberOf(kConfig, "a:1"), news).persist);
}

/// A set that was given an id later than its first config would commit nothing any more.
TEST(Reconfig, AConfigThatBringsTheIdOfTheSetIsTaken) {
  HeartbeatReply news = shown(memberOf(kConfig, "b:1"), "a:1");
  news.newer = withId(nextOf(), kOwnId);
  EXPECT_EQ(when(memberOf(kConfig, "a:1"), news).next.document.replicaSetId(), kOwnId);
  news.newer = nextOf();
  const Topology::Document after = when(memberOf(withId(kConfig, kOwnId), "a:1"), news).next.document;
  EXPECT_EQ(after.config->version, 2);
  EXPECT_EQ(after.replicaSetId(), kOwnId) << "a member that was left behind without it knows no better";
}

TEST(Reconfig, GivesASetNoIdAndTakesNoneAway) {
  const Snapshot<Topology> unknown = memberOf(kConfig, "a:1", Phase::kPrimary);
  const Snapshot<Topology> known = memberOf(withId(kConfig, kOwnId), "a:1", Phase::kPrimary);
  for (const bool force : {false, true})
    for (const Snapshot<Topology>& now : {unknown, known})
      EXPECT_EQ(refusalIn(when(now, Reconfig{withId(nextOf(), kOtherId), force})),
                ErrorCode::kNewReplicaSetConfigurationIncompatible);
  EXPECT_EQ(when(known, Reconfig{nextOf(), true, 0}).next.document.replicaSetId(), kOwnId) << "it need not be repeated";
}

TEST(Reconfig, AddsAndRemovesMembersOneByOne) {
  Cluster set = Cluster::running(kConfig);
  const NodeName primary = set.primary(), gone = set.others().front();
  set.add("d:1");
  set.command(primary, Reconfig{withMember(nextOf(set.config(primary)), "d:1")});
  set.run(Secs(1));
  EXPECT_TRUE(set.concluded(primary, OpenCommand::kReconfig)->isOK());
  EXPECT_EQ(set.phase("d:1"), Phase::kFollower);
  ReplicaSetConfig config = nextOf(set.config(primary));
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
  ReplicaSetConfig config = nextOf(configOf({"new:1"}));
  Reconfig command{config, true};
  EXPECT_EQ(refusalIn(when(memberOf(kConfig, "a:1"), command)), ErrorCode::kNewReplicaSetConfigurationIncompatible);
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
  ReplicaSetConfig config = nextOf(set.config(old));
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
  set.command(primary, Reconfig{nextOf(set.config(primary))});
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
