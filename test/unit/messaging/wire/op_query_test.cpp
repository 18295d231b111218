#include "messaging/wire/op_query.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/document.hpp"
#include "messaging/wire/client.hpp"

namespace troupe::wire {
namespace {

using bson::doc;

TEST(OpQuery, ReadsTheHandshakeOfOldDriversByteForByte) {
  const std::string frame(
      "\x3A\0\0\0\x01\0\0\0\0\0\0\0\xD4\x07\0\0"
      "\x04\0\0\0"
      "admin.$cmd\0"
      "\0\0\0\0"
      "\xFF\xFF\xFF\xFF"
      "\x13\0\0\0"
      "\x10isMaster\0"
      "\x01\0\0\0"
      "\0",
      58);
  const auto query = parseOpQuery(frame);
  ASSERT_TRUE(query.isOK()) << query.status().toString();
  EXPECT_EQ(query->header.requestId, 1);
  EXPECT_EQ(query->flags, 4u);
  EXPECT_EQ(query->ns, "admin.$cmd");
  EXPECT_EQ(query->database, "admin");
  EXPECT_EQ(query->command, doc("isMaster", 1).view());
}

TEST(OpQuery, ServesTheHandshakeAndNothingElse) {
  for (const auto* name : {"hello", "isMaster", "ismaster"})
    EXPECT_TRUE(parseOpQuery(buildOpQuery(1, "admin", doc(name, 1))).isOK()) << name;
  for (const auto* name : {"find", "insert", "ping", "Hello"})
    EXPECT_EQ(parseOpQuery(buildOpQuery(1, "admin", doc(name, 1))).status(), ErrorCode::kUnsupportedOpQueryCommand);
  EXPECT_EQ(parseOpQuery(buildOpQuery(1, "admin", bson::Document())).status(), ErrorCode::kUnsupportedOpQueryCommand);

  auto onCollection = buildOpQuery(1, "admin", doc("hello", 1));
  onCollection.replace(onCollection.find("$cmd"), 4, "rows");
  EXPECT_EQ(parseOpQuery(onCollection).status(), ErrorCode::kUnsupportedOpQueryCommand);
}

TEST(OpQuery, TakesTheCommandOutOfItsWrapper) {
  const auto frame =
      buildOpQuery(1, "admin", doc("$query", doc("hello", 1), "$readPreference", doc("mode", "primary")));
  const auto query = parseOpQuery(frame);
  ASSERT_TRUE(query.isOK());
  EXPECT_EQ(query->command, doc("hello", 1).view());
}

TEST(OpQuery, AcceptsAFieldSelectorAndRefusesOtherTrailingBytes) {
  auto frame = buildOpQuery(1, "admin", doc("hello", 1)) + doc("a", 1).bytes();
  writeHeader(frame.data(), {static_cast<int32_t>(frame.size()), 1, 0, OpCode::kQuery});
  EXPECT_TRUE(parseOpQuery(frame).isOK());
  frame += doc("a", 1).bytes();
  writeHeader(frame.data(), {static_cast<int32_t>(frame.size()), 1, 0, OpCode::kQuery});
  EXPECT_EQ(parseOpQuery(frame).status(), ErrorCode::kProtocolError);
}

TEST(OpQuery, CutAnywhereIsRefused) {
  const auto frame = buildOpQuery(1, "admin", doc("hello", 1));
  for (size_t size = kHeaderSize; size < frame.size(); ++size) {
    auto cut = frame.substr(0, size);
    writeHeader(cut.data(), {static_cast<int32_t>(size), 1, 0, OpCode::kQuery});
    EXPECT_FALSE(parseOpQuery(cut).isOK()) << size;
  }
}

}  // namespace
}  // namespace troupe::wire
