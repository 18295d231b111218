#include "messaging/client/cursor.hpp"

#include <gtest/gtest.h>

#include "test/unit/messaging/client/scripted_server.hpp"

namespace troupe::client {
namespace {

using bson::array;
using bson::doc;

bson::Document page(int64_t id, const char* batch, const bson::Value& documents) {
  return doc("cursor", doc(batch, documents, "id", id, "ns", "shop.old.things"), "ok", 1);
}

TEST(ClientCursor, AsksForMoreUntilTheEnd) {
  ScriptedServer server({doc("ok", 1), page(7, "firstBatch", array(doc("a", 1), doc("a", 2))),
                         page(7, "nextBatch", array()), page(0, "nextBatch", array(doc("a", 3)))});
  std::vector<int64_t> seen;
  {
    auto connection = Connection::open(server.target());
    ASSERT_TRUE(connection.isOK());
    auto cursor = Cursor::open(*connection, "shop", doc("find", "old.things", "batchSize", 2));
    ASSERT_TRUE(cursor.isOK());
    for (auto next = cursor->next(); next.isOK() && *next; next = cursor->next())
      seen.push_back((**next)["a"].toInt64());
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3}));
  ASSERT_EQ(server.asked().size(), 4u);
  EXPECT_EQ(server.asked()[2],
            doc("getMore", int64_t{7}, "collection", "old.things", "batchSize", int64_t{2}, "$db", "shop"));
}

TEST(ClientCursor, KillsWhatItDidNotRead) {
  ScriptedServer server({doc("ok", 1), page(7, "firstBatch", array(doc("a", 1))), doc("ok", 1)});
  {
    auto connection = Connection::open(server.target());
    ASSERT_TRUE(connection.isOK());
    ASSERT_TRUE(Cursor::open(*connection, "shop", doc("find", "old.things")).isOK());
  }
  ASSERT_EQ(server.asked().size(), 3u);
  EXPECT_EQ(server.asked()[2], doc("killCursors", "old.things", "cursors", array(int64_t{7}), "$db", "shop"));
}

TEST(ClientCursor, RefusesAnAnswerWithoutACursor) {
  ScriptedServer server({doc("ok", 1), doc("ok", 1)});
  auto connection = Connection::open(server.target());
  ASSERT_TRUE(connection.isOK());
  EXPECT_EQ(Cursor::open(*connection, "admin", doc("ping", 1)).status(), ErrorCode::kFailedToParse);
}

}  // namespace
}  // namespace troupe::client
