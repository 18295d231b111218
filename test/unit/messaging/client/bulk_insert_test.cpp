#include "messaging/client/bulk_insert.hpp"

#include <gtest/gtest.h>

#include "test/unit/messaging/client/scripted_server.hpp"

namespace troupe::client {
namespace {

using bson::array;
using bson::doc;

TEST(BulkInsert, SendsFullBatchesAndTheRest) {
  ScriptedServer server({doc("ok", 1), doc("n", 2, "ok", 1), doc("n", 1, "ok", 1)});
  {
    auto connection = Connection::open(server.target());
    ASSERT_TRUE(connection.isOK());
    BulkInsert inserts(*connection, "shop", "things", {.batchDocuments = 2});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(inserts.add(doc("_id", i)).isOK());
    ASSERT_TRUE(inserts.flush().isOK());
    ASSERT_TRUE(inserts.flush().isOK());
    EXPECT_EQ(inserts.inserted(), 3);
  }
  ASSERT_EQ(server.asked().size(), 3u);
  EXPECT_EQ(server.asked()[1],
            doc("insert", "things", "ordered", false, "$db", "shop", "documents", array(doc("_id", 0), doc("_id", 1))));
  EXPECT_EQ(server.asked()[2],
            doc("insert", "things", "ordered", false, "$db", "shop", "documents", array(doc("_id", 2))));
}

TEST(BulkInsert, CountsRefusedDocumentsFromTheFirstOneAdded) {
  const auto refusal = doc("n", 1, "ok", 1, "writeErrors", array(doc("index", 1, "code", 11000, "errmsg", "dup")));
  ScriptedServer server({doc("ok", 1), doc("n", 2, "ok", 1), refusal});
  auto connection = Connection::open(server.target());
  ASSERT_TRUE(connection.isOK());
  BulkInsert inserts(*connection, "shop", "things", {.batchDocuments = 2});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(inserts.add(doc("_id", i)).isOK());
  const auto errors = inserts.takeErrors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].index, 3);
  EXPECT_EQ(errors[0].status, ErrorCode::kDuplicateKey);
  EXPECT_TRUE(inserts.takeErrors().empty());
  EXPECT_EQ(inserts.inserted(), 3);
}

}  // namespace
}  // namespace troupe::client
