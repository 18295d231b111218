#include "actors/server/session_cache.hpp"

#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <functional>
#include <random>

#include "actors/server/session_access.hpp"
#include "messaging/bson/json.hpp"

namespace troupe::server {

using namespace std::chrono_literals;
using bson::operator""_json;
using Which = SessionCache::Which;

class SessionCacheTest : public ::testing::Test {
 protected:
  static SessionKey key(char byte, const std::vector<UserKey>& users = {}) {
    return {std::string(16, byte), SessionKey::ownerOf(users)};
  }
  const std::vector<UserKey> ann{{.database = "admin", .name = "ann"}}, bob{{.database = "admin", .name = "bob"}};
  /// Ids of the sessions of a kind, as letters in their order.
  std::string those(Which which) const {
    std::string letters;
    for (SessionCache::Place place; !place.atEnd;)
      for (const auto& row : sessions.look(place, 2, which)) letters += row.key.id().front();
    std::ranges::sort(letters);
    return letters;
  }
  std::vector<SessionCache::Row> rows(Which which) const {
    SessionCache::Place place;
    return sessions.look(place, 100, which);
  }
  /// The names of all owners, read one at a time.
  std::string owners() const {
    std::string names;
    for (SessionCache::Place place; !place.atEnd;)
      for (const auto& owner : sessions.owners(place, 1)) names += joinedNames(owner.users) + " ";
    return names;
  }
  void write() { sessions.noteWritten(rows(Which::kUsed)); }

  std::atomic<int64_t> most{3};
  SessionCache sessions{most};
  const TimePoint start = TimePoint() + 1h;
};

TEST_F(SessionCacheTest, UsingASessionBeginsIt) {
  sessions.touch(key('a'), {}, start);
  sessions.touch(key('a'), {}, start + 1s);
  EXPECT_EQ(those(Which::kLive), "a");
  EXPECT_EQ(rows(Which::kLive).front().lastUse, start + 1s);
}

TEST_F(SessionCacheTest, TheSameIdOfOthersIsAnotherSession) {
  sessions.touch(key('a', ann), ann, start);
  sessions.touch(key('a', bob), bob, start);
  EXPECT_EQ(sessions.size(), 2u);
  EXPECT_EQ(sessions.keysOf(std::string(16, 'a')).size(), 2u);
  EXPECT_TRUE(sessions.end(key('a', ann), start));
  EXPECT_EQ(sessions.keysOf(std::string(16, 'a')), std::vector{key('a', bob)});
  EXPECT_EQ(rows(Which::kLive).front().user, "bob@admin");
}

TEST_F(SessionCacheTest, ANameIsThatOfItsDigest) {
  sessions.touch(key('a', ann), {}, start);  // another node tells of her session
  EXPECT_EQ(rows(Which::kLive).front().user, "");
  sessions.touch(key('b', ann), ann, start);
  sessions.touch(key('c', ann), {}, start);
  EXPECT_EQ(owners(), "ann@admin ");
  for (const auto& row : rows(Which::kLive)) EXPECT_EQ(row.user, row.key == key('a', ann) ? "" : "ann@admin");
  for (const char id : {'a', 'b', 'c'}) sessions.end(key(id, ann), start);
  sessions.noteDeleted(std::vector{key('a', ann), key('b', ann), key('c', ann)});
  EXPECT_EQ(owners(), "") << "the name goes with the last session";
}

TEST_F(SessionCacheTest, TheOneUnusedForLongestGivesItsPlaceToANewOne) {
  for (const char name : {'a', 'b', 'c'}) sessions.touch(key(name), {}, start);
  sessions.touch(key('a'), {}, start + 1s);
  sessions.touch(key('d'), {}, start + 2s);
  EXPECT_EQ(those(Which::kLive), "acd");
  EXPECT_EQ(sessions.displaced(), 1);
  sessions.touch(key('b'), {}, start + 3s);
  EXPECT_EQ(those(Which::kLive), "abd") << "it is noted again at its next use";
}

TEST_F(SessionCacheTest, NoSessionOfARunningOperationGivesWay) {
  std::vector<SessionCache::Use> uses;
  for (const char name : {'a', 'b', 'c', 'd'}) uses.push_back(sessions.use(key(name), {}, start));
  EXPECT_EQ(those(Which::kLive), "abcd") << "rather are there more than maxSessions";
  uses.erase(uses.begin() + 1);
  sessions.touch(key('e'), {}, start + 1s);
  EXPECT_EQ(those(Which::kLive), "acde");
  uses.clear();
  sessions.touch(key('f'), {}, start + 2s);
  EXPECT_EQ(sessions.size(), 3u);
  EXPECT_TRUE(sessions.contains(key('f')));
}

TEST_F(SessionCacheTest, ASessionIsWrittenOnceForAllUsesBetweenTwoRefreshes) {
  sessions.touch(key('a'), {}, start);
  sessions.touch(key('b'), {}, start);
  const auto used = rows(Which::kUsed);
  EXPECT_EQ(used.size(), 2u);
  sessions.touch(key('b'), {}, start + 1s);  // while they are written
  sessions.noteWritten(used);
  EXPECT_EQ(those(Which::kKnown), "a");
  EXPECT_EQ(those(Which::kUsed), "b");
}

TEST_F(SessionCacheTest, WhatARunningOperationUsesIsUsed) {
  const auto use = sessions.use(key('a'), {}, start);
  write();
  EXPECT_EQ(those(Which::kUsed), "a") << "at each refresh";
  EXPECT_EQ(sessions.expire(std::vector{key('a')}), std::vector<SessionKey>{});
  EXPECT_TRUE(rows(Which::kLive).front().isRunning);
}

TEST_F(SessionCacheTest, AnEndedSessionIsKeptUntilItWasDeleted) {
  sessions.touch(key('a'), {}, start);
  EXPECT_TRUE(sessions.end(key('a'), start));
  EXPECT_FALSE(sessions.end(key('b'), start)) << "this node has not seen it, the collection may";
  EXPECT_EQ(sessions.size(), 0u);
  EXPECT_FALSE(sessions.contains(key('a')));
  EXPECT_EQ(those(Which::kEnded), "ab");
  EXPECT_EQ(sessions.ended(), 2u);
  sessions.noteDeleted(std::vector{key('a'), key('b')});
  EXPECT_EQ(those(Which::kEnded), "");
  EXPECT_EQ(sessions.ended(), 0u);
}

TEST_F(SessionCacheTest, AnEndedSessionThatIsUsedAgainIsOne) {
  sessions.touch(key('a'), {}, start);
  sessions.end(key('a'), start);
  sessions.touch(key('a'), {}, start + 1s);
  sessions.noteDeleted(std::vector{key('a')});
  EXPECT_EQ(those(Which::kUsed), "a") << "and is written again";
}

TEST_F(SessionCacheTest, AnEndedSessionIsNotDeletedWhileItRuns) {
  auto use = sessions.use(key('a'), {}, start);
  sessions.end(key('a'), start);
  EXPECT_EQ(those(Which::kEnded), "");
  sessions.noteDeleted(std::vector{key('a')});
  EXPECT_EQ(those(Which::kUsed), "") << "nor does it come back";
  use = {};
  EXPECT_EQ(those(Which::kEnded), "a");
}

TEST_F(SessionCacheTest, EndedSessionsGiveWayFirstAndNeverTakeAPlace) {
  for (const char name : {'a', 'b', 'c'}) sessions.touch(key(name), {}, start);
  sessions.end(key('c'), start);
  sessions.touch(key('d'), {}, start);
  EXPECT_EQ(those(Which::kLive), "abd");
  EXPECT_EQ(sessions.displaced(), 0);
  EXPECT_FALSE(sessions.end(key('x'), start));
  EXPECT_EQ(those(Which::kEnded), "") << "the table is full: the collection times it out";
}

TEST_F(SessionCacheTest, OnlyWhatWasWrittenAndNotUsedSinceExpires) {
  sessions.touch(key('a'), {}, start);
  sessions.touch(key('b'), {}, start);
  write();
  sessions.touch(key('b'), {}, start + 1s);
  EXPECT_EQ(sessions.expire(std::vector{key('a'), key('b'), key('z')}), (std::vector{key('a'), key('z')}))
      << "one that is not remembered is gone as well";
  EXPECT_EQ(those(Which::kLive), "b");
}

TEST_F(SessionCacheTest, WithoutACollectionIdleSessionsEnd) {
  for (const char name : {'a', 'b', 'c'}) sessions.touch(key(name), {}, start);
  sessions.touch(key('b'), {}, start + 20min);
  const auto running = sessions.use(key('a'), {}, start);
  EXPECT_EQ(sessions.endIdle(start + 10min, start + 20min, 100), std::vector{key('c')});
  EXPECT_EQ(those(Which::kLive), "ab");
}

class SessionPagesTest : public SessionCacheTest {
 protected:
  SessionPagesTest() {
    most = 100;
    for (const char name : {'a', 'b', 'c', 'd', 'e'}) sessions.touch(key(name), {}, start);
  }
  static std::string letters(const std::vector<SessionCache::Row>& rows) {
    std::string text;
    for (const auto& row : rows) text += row.key.id().front();
    return text;
  }
  /// The sessions behind a mark that has lost its place, of pieces of the table.
  std::string older(const SessionCache::Mark& mark, size_t count) const {
    EXPECT_FALSE(sessions.recent(mark, count).has_value());
    std::vector<SessionCache::Row> rows;
    for (SessionCache::Place place; !place.atEnd;) sessions.addOlder(place, mark.useNumber, count, rows);
    std::ranges::sort(rows, std::greater(), &SessionCache::Row::useNumber);
    return letters(rows);
  }
};

TEST_F(SessionPagesTest, GoFromTheLastUsedOne) {
  sessions.end(key('b'), start);
  const auto first = sessions.recent({}, 2);
  EXPECT_EQ(letters(first->rows), "ed");
  const auto second = sessions.recent(first->next, 2);
  EXPECT_EQ(letters(second->rows), "ca");
  EXPECT_FALSE(second->next.has_value());
}

TEST_F(SessionPagesTest, GoOnBehindASessionThatWasUsedMeanwhile) {
  const auto first = sessions.recent({}, 2);
  sessions.touch(key('d'), {}, start);
  EXPECT_EQ(older(*first->next, 2), "cb") << "not d, which is first now, and was shown";
  EXPECT_EQ(older(*first->next, 10), "cba");
}

TEST_F(SessionPagesTest, GoOnBehindASessionThatHasEndedMeanwhile) {
  const auto first = sessions.recent({}, 2);
  sessions.end(key('d'), start);
  EXPECT_EQ(older(*first->next, 2), "cb");
  sessions.noteDeleted(std::vector{key('d')});
  EXPECT_EQ(older(*first->next, 2), "cb");
  sessions.touch(key('d'), {}, start);  // another of that id
  EXPECT_EQ(older(*first->next, 2), "cb");
}

TEST_F(SessionPagesTest, TheOnlySessionThatWasEndedIsFoundWhenItIsUsedAgain) {
  for (const char name : {'a', 'b', 'c', 'd'}) sessions.end(key(name), start);
  sessions.noteDeleted(std::vector{key('a'), key('b'), key('c'), key('d')});
  sessions.end(key('e'), start);
  EXPECT_EQ(letters(sessions.recent({}, 10)->rows), "");
  sessions.touch(key('e'), {}, start);
  EXPECT_EQ(letters(sessions.recent({}, 10)->rows), "e");
}

TEST_F(SessionCacheTest, ManySessionsOfOneIdAreFound) {
  most = 1000;
  for (int i = 0; i < 500; ++i)
    sessions.touch({std::string(16, 'a'), std::string(32, static_cast<char>(i % 100))}, {}, start);
  EXPECT_EQ(sessions.size(), 100u);
  EXPECT_EQ(sessions.keysOf(std::string(16, 'a')).size(), 100u);
}

/// 1,000,000 sessions in less than 200 bytes each, all of the memory counted.
TEST_F(SessionCacheTest, ASessionTakesLittleMemory) {
  constexpr int64_t kMany = 1'000'000;
  most = kMany;
  std::mt19937_64 random(7);
  const auto held = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const size_t before = held();
  for (int64_t i = 0; i < kMany; ++i) {
    const uint64_t parts[] = {random(), random()};
    sessions.touch({std::string_view(reinterpret_cast<const char*>(parts), 16), {}}, {}, start);
  }
  ASSERT_EQ(sessions.size(), static_cast<size_t>(kMany));
  const double each = static_cast<double>(sessions.bytes()) / kMany;
  EXPECT_LT(each, 200);
  if (const size_t after = held(); after > before) {  // sanitizers have a heap of their own
    EXPECT_LT(static_cast<double>(after - before) / kMany, 200);
  }
  RecordProperty("bytesPerSession", std::to_string(each));
}

class SessionAccessTest : public SessionCacheTest {
 protected:
  static void logIn(Client& client, std::string name, std::string database, std::string id = {}) {
    client.users.push_back({.name = std::move(name), .database = std::move(database), .id = std::move(id)});
    client.usersChanged();
  }
  static bson::Document lsid(std::string_view uid = {}) {
    bson::Builder b;
    b.append("id", bson::Binary{bson::kBinaryUuid, "0123456789abcdef"});
    if (!uid.empty()) b.append("uid", bson::Binary{bson::kBinaryGeneric, uid});
    return b.finish();
  }
};

TEST_F(SessionAccessTest, ASessionIsOfTheClientsUsers) {
  Client client(1, "a", false, false), nobody(2, "n", false, false);
  logIn(client, "ann", "admin");
  const std::string hers = SessionKey::ownerOf(ann), bobs = SessionKey::ownerOf(bob);
  EXPECT_EQ(sessionOf(client, lsid())->owner(), hers);
  EXPECT_EQ(sessionOf(client, lsid(hers))->owner(), hers);
  EXPECT_EQ(sessionOf(client, lsid(bobs)).status(), ErrorCode::kUnauthorized);
  EXPECT_EQ(sessionOf(nobody, lsid())->owner(), SessionKey::nobody());
  EXPECT_EQ(sessionOf(nobody, lsid(hers)).status(), ErrorCode::kUnauthorized);
  const bson::Binary id{bson::kBinaryUuid, "0123456789abcdef"};
  const auto twice = bson::doc("id", id, "uid", bson::Binary{bson::kBinaryGeneric, hers}, "uid",
                               bson::Binary{bson::kBinaryGeneric, bobs});
  EXPECT_EQ(sessionOf(client, twice).status(), ErrorCode(40413)) << "bob's, to those who take the last";
  EXPECT_EQ(sessionOf(client, bson::doc("id", id, "more", 1)).status(), ErrorCode::kUnknownField);
  EXPECT_EQ(sessionOf(client, bson::doc("id", id, "txnUUID", id)).status(), ErrorCode::kInvalidOptions);
  EXPECT_EQ(joinedNames(sessionUsers(client, *sessionOf(client, lsid()))), "ann@admin");
}

TEST_F(SessionAccessTest, UsersWhoseNamesReadAlikeAreOthers) {
  const auto ownerOf = [](const std::vector<UserKey>& users) {
    Client client(1, "c", false, false);
    for (const UserKey& user : users) logIn(client, user.name, user.database, user.id);
    EXPECT_EQ(client.sessionOwner, SessionKey::ownerOf(users));
    return client.sessionOwner;
  };
  const UserKey alice{.database = "admin", .name = "alice@corp"}, namesake{.database = "corp@admin", .name = "alice"};
  ASSERT_EQ(alice.text(), namesake.text());
  EXPECT_NE(ownerOf({alice}), ownerOf({namesake}));
  const UserKey asTwo{.database = "admin", .name = "ann@admin, bob"};
  ASSERT_EQ(asTwo.text(), joinedNames(std::vector{ann.front(), bob.front()}));
  EXPECT_NE(ownerOf({asTwo}), ownerOf({ann.front(), bob.front()}));
  EXPECT_EQ(ownerOf({bob.front(), ann.front()}), ownerOf({ann.front(), bob.front()})) << "in whatever order";
  const UserKey former{.database = "admin", .name = "ann", .id = "1"}, again{"admin", "ann", "2"};
  EXPECT_NE(ownerOf({former}), ownerOf({again})) << "dropped and made again";
  EXPECT_EQ(SessionKey::ownerOf(std::vector<UserKey>()), SessionKey::nobody());
}

TEST_F(SessionAccessTest, TheClusterNamesSessionsOfOthers) {
  Client cluster(1, "c", false, false);
  logIn(cluster, "__system", "local");
  const std::string hers = SessionKey::ownerOf(ann);
  EXPECT_EQ(sessionOf(cluster, lsid(hers))->owner(), hers);
  EXPECT_TRUE(sessionUsers(cluster, *sessionOf(cluster, lsid(hers))).empty()) << "it is not their owner";
  EXPECT_EQ(sessionOf(cluster, lsid("short")).status(), ErrorCode::kBadValue);
}

TEST_F(SessionAccessTest, AnIdMustBeAUuid) {
  const Client nobody(1, "n", false, false);
  EXPECT_EQ(sessionOf(nobody, bson::Document()).status(), ErrorCode::kMissingRequiredField);
  EXPECT_EQ(sessionOf(nobody, R"({"id": "abc"})"_json).status(), ErrorCode::kTypeMismatch);
  const auto shortId = bson::doc("id", bson::Binary{bson::kBinaryUuid, "abc"});
  EXPECT_EQ(sessionOf(nobody, shortId).status(), ErrorCode::kInvalidUUID);
}

TEST_F(SessionAccessTest, OnlyFieldsOfSessionsAreTaken) {
  const Client nobody(1, "n", false, false);
  Client cluster(1, "c", false, false);
  logIn(cluster, "__system", "local");
  const std::string bytes(16, 'a');
  const bson::Binary uuid{bson::kBinaryUuid, bytes};
  const auto with = [&](std::string_view field) { return bson::doc("id", uuid, field, uuid); };
  EXPECT_EQ(sessionOf(nobody, with("color")).status(), ErrorCode::kUnknownField);
  EXPECT_EQ(sessionOf(cluster, with("color")).status(), ErrorCode::kUnknownField);
  EXPECT_EQ(sessionOf(nobody, with("txnUUID")).status(), ErrorCode::kInvalidOptions);
  EXPECT_TRUE(sessionOf(cluster, with("txnUUID")).isOK());
  const bson::Document numbered = bson::doc("id", uuid, "txnNumber", int64_t{1}, "txnUUID", uuid);
  EXPECT_EQ(sessionOf(nobody, numbered).status(), ErrorCode::kInvalidOptions);
  EXPECT_TRUE(sessionOf(cluster, numbered).isOK());
}

}  // namespace troupe::server
