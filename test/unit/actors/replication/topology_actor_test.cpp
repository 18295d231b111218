#include "actors/replication/topology_actor.hpp"

#include <algorithm>
#include <limits>

#include "actors/machines/message_binding.hpp"
#include "actors/replication/progress_reporter.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::replication {

using commands::Exchange;
using storage::LockMode;
using storage::ResourceId;

/// A member of a replica set of its own, which is primary.
class TopologyActorTest : public commands::CommandTest {
 protected:
  TopologyActorTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    const auto initiated =
        server.run(parse(R"({"replSetInitiate": {"_id": "rs", "members": [{"_id": 0, "host": "n1:1"}]}})"), "admin");
    EXPECT_TRUE(initiated["ok"].truthy()) << bson::toRelaxedJson(initiated);
    for (int steps = 0; !isWritable() && steps < 600; ++steps) server.node.advance(std::chrono::milliseconds(100));
    EXPECT_TRUE(isWritable());
  }
  bool isWritable() const { return server.server->membership->view()->isWritable(); }
};

// ELE-028
TEST_F(TopologyActorTest, NothingOfTheOldRoleIsLeftToAnyoneWhoHasLearntOfTheNewOne) {
  storage::Locker old(server.locks), reader(server.locks);
  ASSERT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX));
  auto stepDown = std::make_shared<Exchange>(
      wire::buildRequest(99, "admin",
                         parse(R"({"replSetStepDown": 10, "force": true, "secondaryCatchUpPeriodSecs": 0})"), {}, 0),
      *server.server, *server.client, server.time->now());
  server.node.start([](std::shared_ptr<Exchange> e) -> Task<void> {
    co_await server::dispatch(e->request);
    e->done = true;
  }(stepDown));
  while (isWritable()) ASSERT_TRUE(server.node.step());
  // The very moment in which the role is published, before anything else has run.
  EXPECT_FALSE(server.server->operations.replicated->fence.isOpen());
  EXPECT_FALSE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIS))
      << "a read in the new role has to wait for the operations of the old one";
  old.releaseAll();
  server.node.run();
  EXPECT_TRUE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIS));
  reader.releaseAll();
  for (int steps = 0; !stepDown->done && steps < 100; ++steps) server.node.advance(std::chrono::milliseconds(100));
  EXPECT_TRUE(stepDown->done);
}

/// What it hears of itself is paced; a vote must not be: the voter may have acknowledged an entry meanwhile.
TEST_F(TopologyActorTest, JudgesCandidatesByWhatItHasAppliedAtThatMoment) {
  const auto applied = [this] { return server.server->membership->view()->topology.memory.applied; };
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})"));
  const OpTime newest = server.server->progress->applied();
  ASSERT_LT(applied(), newest) << "it is told a moment later";
  VoteRequest request{.from = "n2:1", .setName = "rs", .term = newest.term + 1};
  server.node.tell(server.node.address(kTopologyPath), machines::toMessage(request));
  server.node.run();
  EXPECT_EQ(applied(), newest);
  EXPECT_EQ(server.server->progress->report().term, newest.term + 1) << "and reports in the voter's term from then on";
}

/// The same for itself when it is asked to stand: it would tell the voters of less than it has.
TEST_F(TopologyActorTest, StandsWithWhatItHasAppliedAtThatMoment) {
  const auto applied = [this] { return server.server->membership->view()->topology.memory.applied; };
  for (const Payload& wish : {machines::toMessage(StepUp{}), machines::toMessage(StepUpRequest{.from = "n2:1"})}) {
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})"));
    const OpTime newest = server.server->progress->applied();
    ASSERT_LT(applied(), newest) << "it is told a moment later";
    server.node.tell(server.node.address(kTopologyPath), wish);
    server.node.run();
    EXPECT_EQ(applied(), newest);
  }
}

/// The same for a config: the one before may have committed what was written since.
TEST_F(TopologyActorTest, AConfigIsInUseFromWhatItHasAppliedAtThatMoment) {
  const auto memory = [this] { return server.server->membership->view()->topology.memory; };
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})"));
  const OpTime newest = server.server->progress->applied();
  ASSERT_LT(memory().applied, newest) << "it is told a moment later";
  EXPECT_TRUE(succeeds(R"({"replSetReconfig": {"_id": "rs", "version": 9,
                                               "members": [{"_id": 0, "host": "n1:1", "priority": 2}]},
                           "force": true})",
                       "admin"));
  server.node.run();
  ASSERT_TRUE(memory().inUseFrom);
  EXPECT_GE(*memory().inUseFrom, newest);
}

TEST_F(TopologyActorTest, StartedAgainItCountsPositionsInItsNextTerm) {
  const int64_t later = server.server->progress->report().term + 3;
  server.server->progress->noteTerm(later);
  server.node.kill(server.node.address(kTopologyPath), Status(ErrorCode::kInternalError, "a test"));
  server.node.run();
  for (int steps = 0; !isWritable() && steps < 600; ++steps) server.node.advance(std::chrono::milliseconds(100));
  EXPECT_GT(server.server->membership->view()->topology.memory.term, later);
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "majority"}})"));
}

/// Keeps what leaves for a member that is not there.
class Kept final : public Route {
 public:
  void send(Envelope envelope) noexcept override { envelopes.push_back(std::move(envelope)); }
  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const Envelope& each : envelopes)
      if (each.payload && each.payload.type() == machines::payloadTypeOf<T>())
        found.push_back(*machines::fromPayload<T>(each.payload));
    return found;
  }
  std::vector<Envelope> envelopes;
};

/// The same member, with another one in its config that has no vote, and of which the test plays the part.
class WithAnotherMember : public TopologyActorTest {
 protected:
  WithAnotherMember() {
    server.node.postOffice().setRoute("n2:1", other);
    reconfigure(2, R"(, {"_id": 1, "host": "n2:1", "votes": 0, "priority": 0})");
    EXPECT_EQ(config().members.size(), 2u);
  }
  const ReplicaSetConfig& config() const { return *server.server->membership->view()->config(); }
  std::shared_ptr<commands::Exchange> reconfigure(int version, const std::string& others) {
    auto exchange =
        server.begin(parse(R"({"replSetReconfig": {"_id": "rs", "version": )" + std::to_string(version) +
                           R"(, "members": [{"_id": 0, "host": "n1:1"})" + others + R"(]}, "force": true})"),
                     "admin");
    for (int steps = 0; !exchange->done && steps < 20; ++steps) server.node.advance(std::chrono::milliseconds(100));
    return exchange;
  }
  template <class T>
  void hear(const T& message, const NodeName& from = "n2:1") {
    Envelope envelope;
    envelope.to = server.node.address(kTopologyPath);
    envelope.from = Address(from, kTopologyPath);
    envelope.payload = machines::toMessage(message);
    server.node.postOffice().send(std::move(envelope));
    server.node.run();
  }
  HeartbeatRequest heartbeat() const {
    HeartbeatRequest request;
    request.sender.from = "n2:1";
    request.sender.config = config().configVersion();
    request.sender.state = MemberState::kSecondary;
    request.to = "n1:1";
    request.setName = "rs";
    return request;
  }
  Duration roundTrip() const { return server.server->membership->view()->contacts.at("n2:1").roundTrip; }

  std::shared_ptr<Kept> other = std::make_shared<Kept>();
};

/// A primary counts it as there from the start.
TEST_F(WithAnotherMember, AMemberIsUpSinceItWasHeardOfItself) {
  EXPECT_EQ(server.server->membership->view()->contacts.at("n2:1").upSince, WallTime{});
  hear(heartbeat());
  EXPECT_NE(server.server->membership->view()->contacts.at("n2:1").upSince, WallTime{});
}

TEST_F(WithAnotherMember, MeasuresTheWayOfTheVeryHeartbeatThatIsAnswered) {
  other->envelopes.clear();
  server.node.advance(std::chrono::seconds(5));
  const auto sent = other->all<HeartbeatRequest>();
  ASSERT_GE(sent.size(), 2u);
  ASSERT_GT(sent[1].sentAt, sent[0].sentAt);
  HeartbeatReply reply;
  reply.sender = heartbeat().sender;
  reply.to = "n1:1";
  reply.setName = "rs";
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(server.time->now().time_since_epoch()).count();
  reply.sentAt = now - 700;  // those before were lost
  hear(reply);
  EXPECT_EQ(roundTrip(), std::chrono::microseconds(700));
  reply.sentAt = 0;
  hear(reply);
  reply.sentAt = now + 5'000'000;
  hear(reply);
  reply.sentAt = std::numeric_limits<int64_t>::max();
  hear(reply);
  EXPECT_EQ(roundTrip(), std::chrono::microseconds(700)) << "none of them says anything";
}

/// A node that can open links may call under any number of names.
TEST_F(WithAnotherMember, RemembersFewStrangersAndNotForLong) {
  const auto contacts = [this] { return server.server->membership->view()->contacts; };
  hear(heartbeat());
  HeartbeatRequest request = heartbeat();
  for (int i = 0; i < 200; ++i) {
    request.sender.from = "x" + std::to_string(i) + ":1";
    server.node.advance(std::chrono::milliseconds(1));
    hear(request, request.sender.from);
  }
  EXPECT_EQ(contacts().size(), 33u) << "a member, and 32 strangers";
  EXPECT_TRUE(contacts().contains("n2:1"));
  EXPECT_TRUE(contacts().contains("x199:1")) << "it awaits an answer";
  server.node.advance(std::chrono::seconds(70));
  EXPECT_EQ(contacts().size(), 1u);
}

/// In the old term nothing could be acknowledged any more. A heartbeat may tell of it later, or never.
TEST_F(WithAnotherMember, ALaterTermInAReportOfPositionsEndsItsOwn) {
  const auto term = [this] { return server.server->membership->view()->topology.memory.term; };
  const int64_t later = term() + 4;
  const PositionReport report{"n2:1", later, config().configVersion(), {}, config().settings.replicaSetId};
  server.node.tell(server.node.address(kProgressPath), machines::toMessage(report));
  server.node.run();
  for (int steps = 0; !isWritable() && steps < 600; ++steps) server.node.advance(std::chrono::milliseconds(100));
  EXPECT_GT(term(), later);
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "majority"}})"));
}

/// Its topology waits for the new config to be written, which fsyncLock holds up.
TEST_F(WithAnotherMember, AnswersHeartbeatsWhileItsDocumentCannotBeWritten) {
  const auto stepDown =
      server.begin(parse(R"({"replSetStepDown": 3600, "force": true, "secondaryCatchUpPeriodSecs": 0})"), "admin");
  for (int steps = 0; !stepDown->done && steps < 100; ++steps) server.node.advance(std::chrono::milliseconds(100));
  ASSERT_TRUE(stepDown->done);
  ASSERT_FALSE(isWritable());
  EXPECT_TRUE(succeeds(R"({"fsync": 1, "lock": true})", "admin"));
  const auto change = reconfigure(3, R"(, {"_id": 1, "host": "n2:1", "votes": 0, "priority": 0, "hidden": true})");
  ASSERT_FALSE(change->done);
  HeartbeatRequest request = heartbeat();
  for (int i = 0; i < 300; ++i) {
    other->envelopes.clear();
    request.sentAt = 1000 + i;
    hear(request);
    const auto answers = other->all<HeartbeatReply>();
    ASSERT_EQ(answers.size(), 1u) << "of heartbeat " << i;
    EXPECT_EQ(answers[0].sender.state, MemberState::kSecondary);
    EXPECT_EQ(answers[0].sentAt, 1000 + i);
    EXPECT_EQ(answers[0].sender.config, config().configVersion()) << "that which is written";
  }
  other->envelopes.clear();
  EXPECT_TRUE(succeeds(R"({"fsyncUnlock": 1})", "admin"));
  for (int steps = 0; !change->done && steps < 20; ++steps) server.node.advance(std::chrono::milliseconds(100));
  EXPECT_TRUE(change->done);
  const auto late = other->all<HeartbeatReply>();
  ASSERT_LE(late.size(), 1u) << "one was kept to be taken in";
  for (const HeartbeatReply& reply : late)
    EXPECT_EQ(reply.sentAt, 0) << "it was answered at once: this measures no way";
  EXPECT_TRUE(config().members[1].hidden);
}

TEST_F(WithAnotherMember, ShowsAndLogsWhyItIsRefused) {
  const auto shownMessage = [this] {
    const auto status = server.run(parse(R"({"replSetGetStatus": 1})"), "admin");
    return std::string(status.view().at("members.1.lastHeartbeatMessage").toStringOr("missing"));
  };
  const auto warnings = [this](int64_t id) {
    return std::ranges::count_if(server.server->log.recentLines(), [&](const std::string& line) {
      const bson::Document written = parse(line);
      return written["s"].toStringOr() == "W" && written["id"].toInt64() == id;
    });
  };
  server.node.advance(std::chrono::seconds(30));
  EXPECT_EQ(shownMessage(), "no sign of life within the election timeout");
  HeartbeatReply reply;
  reply.sender = heartbeat().sender;
  reply.to = "n1:1";
  reply.setName = "other";
  reply.refusal = Status(ErrorCode::kInconsistentReplicaSetNames, "n2:1 is in the set other, not in rs");
  for (int i = 0; i < 3; ++i) hear(reply);
  EXPECT_EQ(shownMessage(), "InconsistentReplicaSetNames: n2:1 is in the set other, not in rs");
  EXPECT_EQ(warnings(21282), 1) << "only when it changes";
  EXPECT_EQ(warnings(21283), 0);
  reply.refusal = Status();
  reply.setName = "rs";
  for (int i = 0; i < 3; ++i) hear(reply);
  EXPECT_EQ(shownMessage(), "");
  EXPECT_EQ(warnings(21282), 1);
  EXPECT_EQ(warnings(21283), 1);
}

/// Its link is refused by the other side, or by this one: nothing else is known of it.
TEST_F(WithAnotherMember, AChangeThatFailsForSilenceTellsWhyThereIsNoLink) {
  const auto link = server.node.registry().keep({.path = "/node/links/n3:1", .type = "OutgoingLink"});
  link->setError("refused by the other side: its proof is wrong");
  const auto reply = server.begin(parse(R"({"replSetReconfig": {"_id": "rs", "version": 1000000, "members": [
                                            {"_id": 0, "host": "n1:1"}, {"_id": 2, "host": "n3:1"}]}})"),
                                  "admin");
  for (int steps = 0; !reply->done && steps < 600; ++steps) server.node.advance(std::chrono::milliseconds(100));
  ASSERT_TRUE(reply->done);
  const bson::Document answer = reply->takeReply();
  EXPECT_EQ(answer["codeName"].toStringOr(), "NodeNotFound") << bson::toRelaxedJson(answer);
  const std::string text(answer["errmsg"].toStringOr());
  EXPECT_NE(text.find("do not answer: n3:1; no link to n3:1: refused by the other side: its proof is wrong"),
            std::string::npos)
      << text;
}

/// Initiated as a set of its own, of the same name, with more elections behind it.
TEST_F(WithAnotherMember, ShowsAndLogsThatItIsOfAnotherSetOfItsName) {
  const int64_t term = server.server->membership->view()->topology.memory.term;
  const bson::ObjectId own = *config().settings.replicaSetId, strange{{7}};
  HeartbeatRequest request = heartbeat();
  request.sender.term = term + 5;
  request.sender.state = MemberState::kPrimary;
  request.sender.config.version = 9;
  request.replicaSetId = strange;
  other->envelopes.clear();
  hear(request);
  const auto answers = other->all<HeartbeatReply>();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].replicaSetId, own);
  EXPECT_EQ(answers[0].refusal.code(), ErrorCode::kInvalidReplicaSetConfig);
  HeartbeatReply reply;
  reply.sender = request.sender;
  reply.to = "n1:1";
  reply.setName = "rs";
  reply.replicaSetId = strange;
  hear(reply);
  const auto status = server.run(parse(R"({"replSetGetStatus": 1})"), "admin");
  const std::string shown(status.view().at("members.1.lastHeartbeatMessage").toStringOr());
  EXPECT_NE(shown.find("replicaSetId is " + strange.toString() + ", not " + own.toString()), std::string::npos)
      << shown;
  EXPECT_NE(status.view().at("members.1.stateStr").toStringOr(), "PRIMARY");
  EXPECT_EQ(status["term"].toInt64(), term);
  EXPECT_TRUE(isWritable());
  const auto warned = std::ranges::count_if(server.server->log.recentLines(), [&](const std::string& line) {
    const bson::Document written = parse(line);
    return written["id"].toInt64() == 21282 && written.view().at("attr.refusal").toStringOr() == shown;
  });
  EXPECT_EQ(warned, 1);
}

TEST_F(WithAnotherMember, LogsWhoIsThereWhichConfigIsInUseAndWhyItsStateChanged) {
  const auto last = [this](int64_t id) {
    bson::Document found;
    for (const std::string& line : server.server->log.recentLines())
      if (bson::Document written = parse(line); written["id"].toInt64() == id) found = std::move(written);
    return found;
  };
  const bson::Document config = last(21286);
  EXPECT_EQ(config.view().at("attr.version").toInt64(), this->config().version);
  EXPECT_EQ(config.view().at("attr.added.0").toStringOr(), "n2:1");
  EXPECT_TRUE(config.view().at("attr.removed").asArray().empty());
  hear(heartbeat());
  EXPECT_EQ(last(21285).view().at("attr.host").toStringOr(), "n2:1");
  server.node.advance(std::chrono::seconds(30));
  const bson::Document down = last(21284);
  EXPECT_EQ(down.view().at("attr.host").toStringOr(), "n2:1");
  EXPECT_EQ(down["s"].toStringOr(), "W");
  reconfigure(100'000'000, "");
  EXPECT_EQ(last(21286).view().at("attr.removed.0").toStringOr(), "n2:1");
  const auto stepDown =
      server.begin(parse(R"({"replSetStepDown": 3600, "force": true, "secondaryCatchUpPeriodSecs": 0})"), "admin");
  for (int steps = 0; !stepDown->done && steps < 100; ++steps) server.node.advance(std::chrono::milliseconds(100));
  const auto status = server.run(parse(R"({"replSetGetStatus": 1})"), "admin");
  EXPECT_EQ(status.view().at("members.0.infoMessage").toStringOr(), "could not find member to sync from");
  const bson::Document state = last(21358);
  EXPECT_EQ(state.view().at("attr.why").toStringOr(), "replSetStepDown");
  EXPECT_EQ(state["s"].toStringOr(), "I") << "it was asked for";
}

/// It may have been started under another name than the one that the config has.
TEST_F(WithAnotherMember, AMemberThatIsRemovedSaysWhatItIsCalled) {
  HeartbeatReply reply;
  reply.sender = heartbeat().sender;
  reply.to = "n1:1";
  reply.setName = "rs";
  reply.newer = config();
  ++reply.newer->version;
  reply.newer->members.erase(reply.newer->members.begin());
  reply.newer->members[0].votes = 1;
  reply.newer->members[0].priority = 1;
  hear(reply);
  server.node.advance(std::chrono::seconds(1));
  const auto status = server.run(parse(R"({"replSetGetStatus": 1})"), "admin");
  EXPECT_EQ(status["stateStr"].toStringOr(), "REMOVED") << bson::toRelaxedJson(status);
  EXPECT_EQ(status["errmsg"].toStringOr(),
            "Our replica set config is invalid or we are not a member of it: this node is called n1:1 (--nodeName), "
            "and the config names n2:1");
  int warnings = 0;
  for (const std::string& line : server.server->log.recentLines()) {
    const bson::Document written = parse(line);
    if (written["id"].toInt64() != 21289) continue;
    ++warnings;
    EXPECT_EQ(written["s"].toStringOr(), "W");
    EXPECT_EQ(written.view().at("attr.nodeName").toStringOr(), "n1:1");
    EXPECT_EQ(written.view().at("attr.members.0").toStringOr(), "n2:1");
  }
  EXPECT_EQ(warnings, 1);
}

TEST_F(WithAnotherMember, SaysWhenItWasElected) {  // REP-038
  hear(heartbeat());
  const auto answers = other->all<HeartbeatReply>();
  ASSERT_FALSE(answers.empty());
  EXPECT_GT(answers.back().sender.electedAt, bson::Date{});
  const auto status = server.run(parse(R"({"replSetGetStatus": 1})"), "admin");
  EXPECT_EQ(status.view().at("members.0.electionDate").asDate(), answers.back().sender.electedAt);
}

/// It stood as the only voter, whatever its config is now; once it has voted for another one, it shows that vote.
TEST_F(WithAnotherMember, ShowsHowItWasElectedAndForWhomItHasVotedSince) {
  const auto status = [this] { return server.run(parse(R"({"replSetGetStatus": 1})"), "admin"); };
  const int64_t term = server.server->membership->view()->topology.memory.term;
  reconfigure(3, R"(, {"_id": 1, "host": "n2:1"})");
  ASSERT_TRUE(config().members[1].isVoter());
  const bson::Document before = status();
  const bson::View elected = before["electionCandidateMetrics"].asDocument();
  EXPECT_EQ(elected["electionTerm"].toInt64(), term);
  EXPECT_EQ(elected["numVotesNeeded"].toInt64(), 1) << "as it was when it stood";
  EXPECT_EQ(elected["priorityAtElection"].toDouble(), 1);
  EXPECT_EQ(elected["electionTimeoutMillis"].toInt64(), 10'000);
  EXPECT_LT(elected.at("lastSeenOpTimeAtElection.ts").asTimestamp(),
            before.view().at("optimes.appliedOpTime.ts").asTimestamp());
  EXPECT_FALSE(before["electionParticipantMetrics"].ok());

  const OpTime applied = server.server->progress->applied();
  VoteRequest request{.from = "n2:1", .setName = "rs", .term = term + 1};
  request.config = config().configVersion();
  request.applied = applied;
  hear(request);
  for (int steps = 0; isWritable() && steps < 20; ++steps) server.node.advance(std::chrono::milliseconds(10));
  const bson::Document after = status();
  EXPECT_FALSE(after["electionCandidateMetrics"].ok());
  ASSERT_TRUE(after["electionParticipantMetrics"].ok()) << bson::toRelaxedJson(after);
  const bson::View voted = after["electionParticipantMetrics"].asDocument();
  EXPECT_EQ(voted["electionTerm"].toInt64(), term + 1);
  EXPECT_EQ(voted["electionCandidateMemberId"].toInt64(-1), 1);
  EXPECT_GE(voted["lastVoteDate"].asDate(), before["date"].asDate());
  EXPECT_LE(voted["lastVoteDate"].asDate(), after["date"].asDate());
  EXPECT_EQ(voted.at("lastAppliedOpTimeAtElection.ts").asTimestamp(), applied.timestamp);
}

/// Positions of members that are in an earlier term than this node has voted in do not count.
TEST_F(TopologyActorTest, RequestsForVotesThatAreNoneRaiseNoTerm) {
  const int64_t term = server.server->progress->report().term;
  for (const VoteRequest& request :
       {VoteRequest{.from = "n2:1", .setName = "other", .term = term + 1},
        VoteRequest{.from = "n2:1", .setName = "rs", .term = term + 1, .replicaSetId = bson::ObjectId{{7}}},
        VoteRequest{.from = "n2:1", .setName = "rs", .term = term + (int64_t{1} << 33)}}) {
    server.node.tell(server.node.address(kTopologyPath), machines::toMessage(request));
    server.node.run();
    EXPECT_EQ(server.server->progress->report().term, term);
  }
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "majority"}})"));
}

}  // namespace troupe::replication
