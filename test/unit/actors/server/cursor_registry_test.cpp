#include "actors/server/cursor_registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "messaging/bson/json.hpp"
#include "storage/engine/deterministic_engine.hpp"

namespace troupe::server {

using namespace std::chrono_literals;

class CursorRegistryTest : public ::testing::Test {
 protected:
  int64_t nextId = 0;
  CursorRegistry cursors{[this] { return nextId++; }};
  const TimePoint start = TimePoint() + 1h;
  const UserKey ann{.database = "admin", .name = "ann", .id = "1"}, bob{.database = "admin", .name = "bob", .id = "2"};

  int64_t open(const std::vector<UserKey>& owners = {}, bool noTimeout = false) {
    auto cursor = std::make_unique<ClientCursor>();
    cursor->ns = "test.c";
    cursor->owners = owners;
    cursor->noTimeout = noTimeout;
    cursor->lastUsed = start;
    return cursors.add(std::move(cursor));
  }
  StatusWith<std::unique_ptr<ClientCursor>> pin(int64_t id, const std::vector<UserKey>& users = {},
                                                storage::OperationContext* operation = nullptr) {
    return cursors.pin(id, "test.c", users, {}, operation);
  }
};

TEST_F(CursorRegistryTest, GivesNoCursorTheIdZero) { EXPECT_NE(open(), 0); }

TEST_F(CursorRegistryTest, PicksAnotherIdWhenOneIsTaken) {
  const auto first = open();
  nextId = first;
  EXPECT_NE(open(), first);
}

TEST_F(CursorRegistryTest, APinnedCursorBelongsToOneCommandOnly) {
  const auto id = open();
  auto mine = pin(id);
  ASSERT_TRUE(mine.isOK());
  EXPECT_EQ(static_cast<int>(pin(id).status().code()), 12051);
  EXPECT_EQ(cursors.statistics().pinned, 1);
  EXPECT_TRUE(cursors.unpin(*mine, start));
  EXPECT_TRUE(pin(id).isOK());
}

TEST_F(CursorRegistryTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(pin(77).status(), ErrorCode::kCursorNotFound);
  EXPECT_EQ(cursors.kill(77), CursorRegistry::Killed::kNotFound);
}

TEST_F(CursorRegistryTest, ACursorAnswersForItsOwnCollectionOnly) {
  EXPECT_EQ(cursors.pin(open(), "test.other", {}, {}, nullptr).status(), ErrorCode::kUnauthorized);
}

TEST_F(CursorRegistryTest, OnlyItsOwnersMayUseIt) {
  const auto id = open({ann});
  EXPECT_EQ(pin(id, {}).status(), ErrorCode::kUnauthorized);
  EXPECT_EQ(pin(id, {bob}).status(), ErrorCode::kUnauthorized);
  const UserKey again{.database = "admin", .name = "ann", .id = "3"};
  const UserKey namesake{.database = "b@admin", .name = "a", .id = "1"},
      other{.database = "admin", .name = "a@b", .id = "1"};
  EXPECT_EQ(pin(id, {again}).status(), ErrorCode::kUnauthorized) << "dropped and made again";
  EXPECT_EQ(pin(open({other}), {namesake}).status(), ErrorCode::kUnauthorized) << "both are shown as " << other.text();
  EXPECT_TRUE(pin(id, {bob, ann}).isOK());
}

TEST_F(CursorRegistryTest, KnowsTheOwnersOfACursorInUseToo) {
  const auto id = open({ann});
  const auto inUse = pin(id, {ann});
  EXPECT_TRUE(cursors.belongsTo(id, {bob, ann}).value());
  EXPECT_FALSE(cursors.belongsTo(id, {bob}).value());
  EXPECT_TRUE(cursors.belongsTo(open(), {}).value());
  EXPECT_EQ(cursors.belongsTo(77, {}).status(), ErrorCode::kCursorNotFound);
}

TEST_F(CursorRegistryTest, ACursorIsUsedInItsOwnSessionOnly) {
  const auto mine = bson::doc("id", "mine"), other = bson::doc("id", "other");
  auto cursor = std::make_unique<ClientCursor>();
  cursor->ns = "test.c";
  cursor->session = mine;
  const auto id = cursors.add(std::move(cursor));
  const auto codeIn = [&](int64_t which, bson::View session) {
    return static_cast<int>(cursors.pin(which, "test.c", {}, session, nullptr).status().code());
  };
  EXPECT_EQ(codeIn(id, {}), 50736);
  EXPECT_EQ(codeIn(open(), mine), 50737);
  EXPECT_EQ(codeIn(id, other), 50738);
  EXPECT_EQ(codeIn(id, mine), 0);
}

class CursorsOfSessionsTest : public CursorRegistryTest {
 protected:
  int64_t openIn(const SessionKey& session) {
    auto cursor = std::make_unique<ClientCursor>();
    cursor->ns = "test.c";
    cursor->sessionKey = session;
    cursor->lastUsed = start;
    return cursors.add(std::move(cursor));
  }
  /// Ids of the sessions that have cursors, read bucket by bucket.
  std::string sessions(std::optional<TimePoint> unusedSince = {}) const {
    std::string letters;
    for (TablePlace place; !place.atEnd;)
      for (const SessionKey& key : cursors.sessions(place, 1, unusedSince)) letters += key.id().front();
    std::ranges::sort(letters);
    return letters;
  }
  const SessionKey mine{std::string(16, 'm'), {}}, other{std::string(16, 'o'), {}};
};

TEST_F(CursorsOfSessionsTest, EndWithTheirSession) {
  const auto idle = openIn(mine), used = openIn(mine), another = openIn(other);
  open();
  auto pinned = pin(used);
  ASSERT_TRUE(pinned.isOK());
  EXPECT_EQ(cursors.countOf(mine), 2u);
  EXPECT_EQ(sessions(), "mo");
  EXPECT_EQ(cursors.killOf(std::vector{mine, SessionKey(std::string(16, 'x'), {})}), 2);
  EXPECT_EQ(pin(idle).status(), ErrorCode::kCursorNotFound);
  EXPECT_FALSE(cursors.unpin(*pinned, start)) << "the one in use ends with its command";
  EXPECT_EQ(cursors.countOf(mine), 0u);
  EXPECT_TRUE(pin(another).isOK());
  EXPECT_EQ(sessions(), "o");
}

TEST_F(CursorsOfSessionsTest, EndInPieces) {
  const auto used = openIn(mine);
  for (int i = 0; i < 4; ++i) openIn(mine);
  auto pinned = pin(used);
  ASSERT_TRUE(pinned.isOK());
  EXPECT_EQ(cursors.killOf(std::vector{mine}, 3), 3);
  EXPECT_EQ(cursors.killOf(std::vector{mine}, 3), 2);
  EXPECT_EQ(cursors.killOf(std::vector{mine}, 3), 0) << "the one in use is told once";
}

TEST_F(CursorsOfSessionsTest, AreFoundByTheIdWhoeverOwnsThem) {
  const SessionKey anns(std::string(16, 'm'), SessionKey::ownerOf(ann));
  openIn(mine);
  openIn(anns);
  openIn(other);
  EXPECT_EQ(cursors.sessionsOf(std::string(16, 'm')).size(), 2u);
  EXPECT_TRUE(cursors.sessionsOf(std::string(16, 'x')).empty());
}

TEST_F(CursorsOfSessionsTest, TellWhetherTheSessionIsInUse) {
  openIn(mine);
  const auto used = openIn(mine);
  openIn(other);
  EXPECT_EQ(sessions(start), "");
  EXPECT_EQ(sessions(start + 1s), "mo");
  auto pinned = pin(used);
  EXPECT_EQ(sessions(start + 1s), "o");
  ASSERT_TRUE(cursors.unpin(*pinned, start + 2s));
  EXPECT_EQ(sessions(start + 1s), "o");
  EXPECT_EQ(sessions(start + 3s), "mo");
}

TEST_F(CursorRegistryTest, KillingAnIdleCursorEndsIt) {
  const auto id = open();
  EXPECT_EQ(cursors.kill(id), CursorRegistry::Killed::kKilled);
  EXPECT_EQ(pin(id).status(), ErrorCode::kCursorNotFound);
  EXPECT_EQ(cursors.statistics().open, 0);
}

TEST_F(CursorRegistryTest, KillingAPinnedCursorInterruptsItsCommandAndEndsIt) {
  const auto id = open();
  const auto engine = storage::DeterministicEngine::open();
  storage::SessionPool sessions(*engine);
  storage::OperationContext operation({sessions}, storage::OperationOrigin::kClient, 1, start);
  auto mine = pin(id, {}, &operation);
  EXPECT_EQ(cursors.kill(id), CursorRegistry::Killed::kKilled);
  EXPECT_EQ(operation.checkForInterrupt(start), ErrorCode::kCursorKilled);
  EXPECT_EQ(cursors.kill(id), CursorRegistry::Killed::kNotFound) << "once is enough";
  EXPECT_FALSE(cursors.unpin(*mine, start));
  EXPECT_EQ(cursors.statistics().open, 0);
}

TEST_F(CursorRegistryTest, ForgettingAPinnedCursorEndsIt) {
  const auto id = open();
  auto mine = pin(id);
  cursors.forget(id);
  EXPECT_FALSE(cursors.unpin(*mine, start));
  EXPECT_EQ(pin(id).status(), ErrorCode::kCursorNotFound);
}

TEST_F(CursorRegistryTest, IdleCursorsTimeOutUnlessTheyAreNotTo) {
  const auto old = open();
  const auto kept = open({}, true);
  const auto used = open();
  auto mine = pin(used);
  EXPECT_TRUE(cursors.unpin(*mine, start + 10min));
  EXPECT_EQ(cursors.killIdle(start + 5min), 1);
  EXPECT_EQ(pin(old).status(), ErrorCode::kCursorNotFound);
  EXPECT_TRUE(pin(kept).isOK());
  EXPECT_TRUE(pin(used).isOK());
  EXPECT_EQ(cursors.statistics().timedOut, 1);
}

TEST_F(CursorRegistryTest, APinnedCursorDoesNotTimeOut) {
  const auto id = open();
  auto mine = pin(id);
  EXPECT_EQ(cursors.killIdle(start + 1h), 0);
  EXPECT_TRUE(cursors.unpin(*mine, start));
}

TEST_F(CursorRegistryTest, KillIfSeesPinnedCursorsToo) {
  const auto idle = open();
  const auto pinned = open();
  const auto engine = storage::DeterministicEngine::open();
  storage::SessionPool sessions(*engine);
  storage::OperationContext operation({sessions}, storage::OperationOrigin::kClient, 1, start);
  auto mine = pin(pinned, {}, &operation);
  EXPECT_EQ(cursors.killIf([](const ClientCursor& c) { return c.ns == "test.c"; }), 2);
  EXPECT_EQ(operation.checkForInterrupt(start), ErrorCode::kQueryPlanKilled);
  EXPECT_EQ(pin(idle).status(), ErrorCode::kQueryPlanKilled);
  EXPECT_FALSE(cursors.unpin(*mine, start));
}

TEST_F(CursorRegistryTest, ThatACollectionIsGoneIsToldOnce) {
  const auto every = [](const ClientCursor&) { return true; };
  const auto told = open(), killed = open(), forgotten = open(), late = open();
  EXPECT_EQ(cursors.killIf(every), 4);
  EXPECT_EQ(cursors.statistics().open, 0);
  EXPECT_EQ(cursors.killIf(every), 0);
  EXPECT_EQ(pin(told).status(), ErrorCode::kQueryPlanKilled);
  EXPECT_EQ(pin(told).status(), ErrorCode::kCursorNotFound);
  EXPECT_EQ(cursors.kill(killed), CursorRegistry::Killed::kKilled);
  EXPECT_EQ(cursors.kill(killed), CursorRegistry::Killed::kNotFound);
  cursors.killIf([&](const ClientCursor& c) { return c.id == forgotten; }, CursorRegistry::Afterwards::kNotFound);
  EXPECT_EQ(pin(forgotten).status(), ErrorCode::kCursorNotFound);
  cursors.killIdle(start + 1h);
  EXPECT_EQ(pin(late).status(), ErrorCode::kCursorNotFound);
}

TEST_F(CursorRegistryTest, CountsWhatIsOpen) {
  open();
  open({}, true);
  const auto s = cursors.statistics();
  EXPECT_EQ(s.open, 2);
  EXPECT_EQ(s.noTimeout, 1);
  EXPECT_EQ(s.totalOpened, 2);
  int seen = 0;
  cursors.each([&](const ClientCursor&) { ++seen; });
  EXPECT_EQ(seen, 2);
}

}  // namespace troupe::server
