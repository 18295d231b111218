#include "actors/server/session_catalog.hpp"

#include <cstring>

#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::server {

using namespace std::chrono_literals;
using storage::SessionId;

namespace {

SessionId sessionOf(char id, std::optional<char> child = {}, std::optional<int64_t> number = {}) {
  SessionId session;
  session.id.fill(id);
  session.uid.fill('u');
  if (child) session.txnUUID.emplace().fill(*child);
  session.txnNumber = number;
  return session;
}

/// An operation that wants a session, has it, or was refused.
struct Use {
  explicit Use(const ServerContext& server, int64_t id = 0)
      : operation(server.operations, storage::OperationOrigin::kClient, id) {}
  bool has() const { return outcome && outcome->isOK(); }
  ErrorCode code() const { return outcome ? outcome->status().code() : ErrorCode::kOK; }

  storage::OperationContext operation;
  std::optional<StatusWith<SessionCatalog::CheckedOut>> outcome;
};

Task<void> checkOut(SessionCatalog* catalog, Node* node, Use* use, SessionId session) {
  auto outcome = co_await catalog->checkOut(*node, use->operation, session);
  use->outcome.emplace(std::move(outcome));
}

/// Waits for a session until it is killed.
class WaitingActor final : public Actor {
 public:
  WaitingActor(SessionCatalog* catalog, Use* use) : catalog_(catalog), use_(use) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override { start(checkOut(catalog_, &node(), use_, sessionOf('a'))); }

 private:
  SessionCatalog* catalog_;
  Use* use_;
};

}  // namespace

class SessionCatalogTest : public commands::CommandTest {
 protected:
  SessionCatalogTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) { commands::becomePrimary(server); }

  void begin(Use& use, const SessionId& session) {
    server.node.start(checkOut(&catalog, &server.node, &use, session));
    server.node.run();
  }
  void end(Use& use) {
    use.outcome.reset();
    server.node.run();
  }
  FamilyRow row() const {
    const auto rows = catalog.families();
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? FamilyRow{} : rows.front();
  }
  size_t killAll() {
    size_t killed = 0;
    for (TablePlace place; !place.atEnd;)
      for (const SessionKey& family : catalog.look(place, 3)) killed += catalog.kill(family);
    server.node.run();
    return killed;
  }
  static SessionKey keyOf(char id) { return {std::string(16, id), std::string(32, 'u')}; }

  SessionCatalog& catalog = *server.server->sessionCatalog;
  const ServerContext& context = *server.server;
};

TEST_F(SessionCatalogTest, AParentAndItsChildrenAreCheckedOutTogether) {  // SES-002
  Use parent(context, 77), child(context), stranger(context);
  begin(parent, sessionOf('a'));
  begin(child, sessionOf('a', 'c'));
  begin(stranger, sessionOf('b'));
  EXPECT_TRUE(parent.has());
  EXPECT_TRUE(stranger.has());
  EXPECT_FALSE(child.outcome.has_value());
  const auto rows = catalog.families();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, sessionOf('a').familyKey());
  EXPECT_EQ(rows[0].waiters, 1u);
  EXPECT_EQ(catalog.family(keyOf('a').bytes())->waiters, 1u);
  EXPECT_EQ(catalog.family(keyOf('b').bytes())->waiters, 0u);
  EXPECT_FALSE(catalog.family(keyOf('x').bytes()));
  EXPECT_EQ(catalog.keysOf(std::string(16, 'a')), std::vector{keyOf('a')});
  EXPECT_EQ(rows[0].operationId, 77);
  const TimePoint first = rows[0].lastCheckOut;
  server.node.advance(1s);
  end(parent);
  ASSERT_TRUE(child.has());
  EXPECT_EQ(bson::Document(child.outcome->value().writes().session()), sessionOf('a', 'c').toDocument());
  EXPECT_EQ(catalog.families()[0].children, 1u);
  EXPECT_EQ(catalog.families()[0].lastCheckOut, first + 1s);
}

TEST_F(SessionCatalogTest, WaitersFollowInTheirOrder) {  // SES-010
  std::deque<Use> uses;
  for (int i = 0; i < 4; ++i) begin(uses.emplace_back(context), sessionOf('a'));
  uses[2].operation.kill(ErrorCode::kHostUnreachable);
  server.node.run();
  EXPECT_EQ(uses[2].code(), ErrorCode::kHostUnreachable);
  for (const size_t next : {0, 1, 3}) {
    ASSERT_TRUE(uses[next].has()) << next;
    EXPECT_EQ(row().waiters, next == 0 ? 2u : next == 1 ? 1u : 0u);
    end(uses[next]);
  }
  EXPECT_FALSE(row().inUse);
}

/// Killed in the moment in which it is given the session.
TEST_F(SessionCatalogTest, AWaiterThatHasEndedPassesItOn) {
  Use first(context), second(context), third(context);
  begin(first, sessionOf('a'));
  begin(second, sessionOf('a'));
  begin(third, sessionOf('a'));
  second.operation.kill(ErrorCode::kInterrupted);
  first.outcome.reset();
  server.node.run();
  EXPECT_EQ(second.code(), ErrorCode::kInterrupted);
  EXPECT_TRUE(third.has());
}

TEST_F(SessionCatalogTest, AWaiterWhoseFrameGoesAwayIsForgotten) {
  Use first(context), lost(context), next(context);
  begin(first, sessionOf('a'));
  const Address actor = server.node.spawn<WaitingActor>("/waiting", &catalog, &lost);
  server.node.run();
  begin(next, sessionOf('a'));
  EXPECT_EQ(row().waiters, 2u);
  server.node.kill(actor, Status(ErrorCode::kInterrupted, "for the test"));
  server.node.run();
  EXPECT_EQ(row().waiters, 1u);
  EXPECT_EQ(killAll(), 1u);
  EXPECT_FALSE(lost.outcome.has_value());
  EXPECT_EQ(next.code(), ErrorCode::kInterrupted);
}

TEST_F(SessionCatalogTest, AKillEndsTheOperationOfAChildAndThoseThatWait) {  // SES-003
  Use child(context), waiting(context), stranger(context), later(context);
  begin(child, sessionOf('a', 'c'));
  begin(waiting, sessionOf('a'));
  begin(stranger, sessionOf('b'));
  const std::string key = sessionOf('a').familyKey();
  EXPECT_FALSE(catalog.kill(keyOf('x')));
  EXPECT_TRUE(catalog.kill(keyOf('a')));
  server.node.run();
  EXPECT_EQ(child.operation.checkForInterrupt({}), ErrorCode::kInterrupted);
  EXPECT_EQ(waiting.code(), ErrorCode::kInterrupted);
  EXPECT_TRUE(stranger.operation.checkForInterrupt({}).isOK());
  begin(later, sessionOf('a'));
  EXPECT_FALSE(later.outcome.has_value()) << "until the kill is served";
  const auto kills = [&] {
    const auto rows = catalog.families();
    return std::ranges::find(rows, key, &FamilyRow::key)->kills;
  };
  EXPECT_EQ(kills(), 1u);
  end(child);
  EXPECT_TRUE(later.has());
  EXPECT_EQ(kills(), 0u);
  EXPECT_TRUE(later.operation.checkForInterrupt({}).isOK());
}

TEST_F(SessionCatalogTest, OnlyTheFirstKillActs) {  // SES-011
  Use use(context);
  begin(use, sessionOf('a'));
  EXPECT_EQ(killAll(), 1u);
  EXPECT_EQ(killAll(), 0u);
  EXPECT_EQ(row().kills, 2u);
  end(use);
  EXPECT_EQ(row().kills, 0u);
  EXPECT_EQ(killAll(), 1u) << "a free one is acted on at once";
}

TEST_F(SessionCatalogTest, WhatIsUsedOrWaitedForIsNotForgotten) {  // SES-011
  Use first(context), second(context);
  begin(first, sessionOf('a'));
  begin(second, sessionOf('a'));
  const std::string key = sessionOf('a').familyKey();
  const auto isUnused = [&] { return catalog.unusedSince(TimePoint::max()).size() == 1; };
  EXPECT_FALSE(catalog.forget(key) || isUnused());
  end(first);
  EXPECT_FALSE(catalog.forget(key) || isUnused());
  server.node.advance(10s);
  const TimePoint now = server.time->coarseNow();
  end(second);
  EXPECT_TRUE(isUnused());
  EXPECT_TRUE(catalog.unusedSince(now - 11s).empty());
  EXPECT_EQ(catalog.unusedSince(now), std::vector<std::string>{key});
  EXPECT_TRUE(catalog.forget(key));
  EXPECT_EQ(catalog.size(), 0u);
  EXPECT_TRUE(catalog.forget(key)) << "it is forgotten";
}

/// A rollback, or an initial sync, of a node that had been primary.
TEST_F(SessionCatalogTest, FamiliesUnusedForLongestGiveWayToNewOnes) {
  const auto isRemembered = [&](char id) { return catalog.family(keyOf(id).bytes()).has_value(); };
  const auto use = [&](const SessionId& session) {
    Use one(context);
    begin(one, session);
  };
  for (const char id : {'a', 'b', 'c'}) use(sessionOf(id));
  SessionId other = sessionOf('x');
  for (size_t i = 3; i < SessionCatalog::kMostSessions; ++i) {
    std::memcpy(other.id.data(), &i, sizeof i);
    use(other);
  }
  server.node.advance(5s);
  use(sessionOf('a'));
  ASSERT_EQ(catalog.size(), SessionCatalog::kMostSessions);
  for (const char id : {'d', 'e'}) use(sessionOf(id));
  EXPECT_TRUE(isRemembered('a')) << "it was used again";
  EXPECT_FALSE(isRemembered('b'));
  EXPECT_FALSE(isRemembered('c'));
  EXPECT_TRUE(isRemembered('d') && isRemembered('e'));
  EXPECT_EQ(catalog.size(), SessionCatalog::kMostSessions);
}

TEST_F(SessionCatalogTest, WhenAllIsInvalidOperationsEndAndOthersReadAgain) {  // SES-013
  Use use(context), waiting(context);
  begin(use, sessionOf('a'));
  begin(waiting, sessionOf('a'));
  const int64_t term = commands::termOf(server);
  ASSERT_TRUE(use.outcome->value().bringUpToDate(use.operation, *context.oplog, term, 3).isOK());
  ASSERT_TRUE(use.outcome->value().begin(use.operation, 3).isOK());
  catalog.invalidateAll();
  EXPECT_EQ(use.operation.checkForInterrupt({}), ErrorCode::kInterrupted);
  EXPECT_EQ(use.outcome->value().begin(use.operation, 4), ErrorCode::kInterrupted);
  end(use);
  ASSERT_TRUE(waiting.has());
  EXPECT_TRUE(waiting.operation.checkForInterrupt({}).isOK());
  EXPECT_EQ(waiting.outcome->value().writes().number(), -1) << "what was known is gone";
  ASSERT_TRUE(waiting.outcome->value().bringUpToDate(waiting.operation, *context.oplog, term, 3).isOK());
  EXPECT_TRUE(waiting.outcome->value().begin(waiting.operation, 2).isOK()) << "no number is over";
}

TEST_F(SessionCatalogTest, AnOperationOfAnEarlierTermEnds) {  // SES-013
  Use late(context), early(context);
  const int64_t term = commands::termOf(server);
  begin(late, sessionOf('a'));
  ASSERT_TRUE(late.outcome->value().bringUpToDate(late.operation, *context.oplog, term, 3).isOK());
  end(late);
  begin(early, sessionOf('a'));
  EXPECT_EQ(early.outcome->value().bringUpToDate(early.operation, *context.oplog, term - 1, 3).status(),
            ErrorCode::kInterrupted);
}

TEST_F(SessionCatalogTest, AnOperationWithoutANumberLeavesTheLastOne) {  // SES-011
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}], "lsid":
      {"id": {"$binary": {"base64": "y8oFy8jlSZqQT3Dl9CUG7Q==", "subType": "04"}}},
      "txnNumber": {"$numberLong": "5"}})";
  ASSERT_TRUE(succeeds(kInsert));
  EXPECT_EQ(row().lastNumber, 5);
  EXPECT_EQ(row().lastStatement, 1);
  Use use(context);
  begin(use, SessionId::of(row().key, ""));
  ASSERT_TRUE(use.has());
  EXPECT_TRUE(row().inUse);
  end(use);
  EXPECT_EQ(row().lastNumber, 5);
  EXPECT_EQ(row().lastStatement, 1);
}

/// What an operation reads of a number that is over says nothing about the present one.
TEST_F(SessionCatalogTest, AfterALateRetryThePresentNumberIsReadAgain) {
  const auto insert = [this](int64_t number, int id) {
    constexpr std::string_view kLsid =
        R"({"id": {"$binary": {"base64": "y8oFy8jlSZqQT3Dl9CUG7Q==", "subType": "04"}}})";
    return server.run(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", id)}, "lsid",
                                bson::fromJson(kLsid).value(), "txnNumber", number));
  };
  ASSERT_TRUE(insert(5, 1)["ok"].truthy());
  ASSERT_TRUE(catalog.forget(row().key));
  EXPECT_EQ(insert(4, 2)["code"].toInt64(), 225);
  const bson::Document again = insert(5, 1);
  EXPECT_TRUE(again.view().at("retriedStmtIds").ok()) << bson::toRelaxedJson(again);
  EXPECT_EQ(insert(4, 2)["code"].toInt64(), 225);
}

/// What is known of sessions unused for longest goes first.
TEST_F(SessionCatalogTest, TheStatementsThatAreRememberedHaveABudget) {
  constexpr size_t kFamilies = SessionCatalog::kMostStatementsOfAll / SessionCatalog::kMostStatements;
  const auto sessionNumber = [](size_t n) {
    SessionId session = sessionOf('a');
    session.id[0] = static_cast<char>(n);
    session.id[1] = static_cast<char>(n >> 8);
    return session;
  };
  for (size_t n = 0; n < kFamilies + 3; ++n) {
    Use use(context);
    begin(use, sessionNumber(n));
    ASSERT_TRUE(use.has());
    for (int32_t i = 0; i < static_cast<int32_t>(SessionCatalog::kMostStatements); ++i)
      use.outcome->value().writes().note(i, OpTime{1, bson::Timestamp(1, 1)});
    end(use);
    ASSERT_LE(catalog.rememberedStatements(), SessionCatalog::kMostStatementsOfAll);
  }
  EXPECT_EQ(catalog.rememberedStatements(), SessionCatalog::kMostStatementsOfAll);
  EXPECT_EQ(catalog.size(), kFamilies);
  EXPECT_FALSE(catalog.family(sessionNumber(2).familyKey()));
  EXPECT_TRUE(catalog.family(sessionNumber(3).familyKey()));
  EXPECT_TRUE(catalog.forget(sessionNumber(3).familyKey()));
  EXPECT_EQ(catalog.rememberedStatements(), SessionCatalog::kMostStatementsOfAll - SessionCatalog::kMostStatements);
}

class LongSessionTest : public SessionCatalogTest {
 protected:
  /// 1,200 entries of one number, of which nothing is remembered.
  void SetUp() override {
    ASSERT_TRUE(run(0)["ok"].truthy());
    key_ = row().key;
    ASSERT_TRUE(catalog.forget(key_));
  }
  bson::Document run(int64_t maxTimeMS) {
    bson::Builder b;
    b.append("update", "c").openArray("updates");
    for (int i = 0; i < 1200; ++i) b.push(bson::doc("q", bson::doc("_id", i), "u", bson::doc("x", i), "upsert", true));
    b.close().append("lsid", bson::fromJson(kLsid).value()).append("txnNumber", int64_t{5});
    if (maxTimeMS > 0) b.append("maxTimeMS", maxTimeMS);
    return server.run(b.finish());
  }
  static constexpr std::string_view kLsid =
      R"({"id": {"$binary": {"base64": "y8oFy8jlSZqQT3Dl9CUG7Q==", "subType": "04"}}})";
  std::string key_;
};

TEST_F(LongSessionTest, IsReadInPiecesBetweenWhichOthersRun) {
  Use use(context);
  begin(use, SessionId::of(key_, ""));
  const auto& session = use.outcome->value();
  const int64_t term = commands::termOf(server);
  int pieces = 0;
  for (bool isKnown = false; !isKnown; ++pieces) {
    const auto read = session.bringUpToDate(use.operation, *context.oplog, term, 5);
    ASSERT_TRUE(read.isOK()) << read.status().toString();
    isKnown = *read;
    EXPECT_FALSE(use.operation.recoveryUnit().isActive());
  }
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(session.writes().size(), 1200u);
  EXPECT_GT(context.operations.memory->reserved(), 0) << "while the operation has it";
  end(use);
  EXPECT_EQ(context.operations.memory->reserved(), 0);
}

TEST_F(LongSessionTest, IsReadFromItsBeginningByTheNextOperationWhereOneGaveUp) {
  const int64_t term = commands::termOf(server);
  {
    Use use(context);
    begin(use, SessionId::of(key_, ""));
    ASSERT_FALSE(*use.outcome->value().bringUpToDate(use.operation, *context.oplog, term, 5));
    end(use);
  }
  const bson::Document again = run(0);
  EXPECT_EQ(again["retriedStmtIds"].asArray().count(), 1200) << bson::toRelaxedJson(again);
}

/// The history of a session takes three pieces: a short command of it is stepped to the end of the first.
class LongSessionCommandTest : public LongSessionTest {
 protected:
  static Task<void> carryOut(std::shared_ptr<commands::Exchange> exchange) {
    co_await dispatch(exchange->request);
    exchange->done = true;
  }
  void SetUp() override {
    LongSessionTest::SetUp();
    const bson::Document retry =
        bson::doc("update", "c", "updates",
                  std::vector{bson::doc("q", bson::doc("_id", 0), "u", bson::doc("x", 0), "upsert", true)}, "lsid",
                  bson::fromJson(kLsid).value(), "txnNumber", int64_t{5});
    long_ = std::make_shared<commands::Exchange>(wire::buildRequest(1'000'000, "test", retry), *server.server,
                                                 *server.client, server.time->now());
    server.node.start(carryOut(long_));
    while (yields() == 0 && server.node.step()) {
    }
    ASSERT_EQ(yields(), 1) << "it has given way after a piece";
    ASSERT_FALSE(long_->done);
  }
  int64_t yields() const { return long_->operation.metrics.yields; }
  std::shared_ptr<commands::Exchange> long_;
};

TEST_F(LongSessionCommandTest, AnotherCommandIsAnsweredBetweenTwoPieces) {  // SES-018
  const auto other = server.connect();
  const auto quick = std::make_shared<commands::Exchange>(wire::buildRequest(1'000'001, "test", bson::doc("ping", 1)),
                                                          *server.server, *other, server.time->now());
  server.node.start(carryOut(quick));
  while (!quick->done && server.node.step()) {
  }
  EXPECT_TRUE(quick->done);
  EXPECT_FALSE(long_->done);
  server.node.run();
  ASSERT_TRUE(long_->done);
  EXPECT_EQ(yields(), 2);
  const bson::Document reply = long_->takeReply();
  EXPECT_TRUE(reply["retriedStmtIds"].ok()) << bson::toRelaxedJson(reply);
}

TEST_F(LongSessionCommandTest, AKillBetweenTwoPiecesEndsIt) {  // SES-018
  long_->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(long_->done);
  EXPECT_EQ(yields(), 1) << "at once";
  EXPECT_EQ(long_->takeReply()["code"].toInt64(), 11601);
}

}  // namespace troupe::server
