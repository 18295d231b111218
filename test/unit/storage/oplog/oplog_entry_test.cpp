#include "storage/oplog/oplog_entry.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::storage {
namespace {

using namespace bson;

const Uuid kOrders = *Uuid::fromString("5430849c-6922-4ecf-a535-cf1d5c804b2c");

/// Entries as dumps show them.
Document insertEntry() {
  return *fromJson(R"({
    "lsid": {"id": {"$uuid": "cb05cafc-c6e5-499a-904f-70e5f42506ed"}}, "txnNumber": {"$numberLong": "1"},
    "op": "i", "ns": "shop.orders", "ui": {"$uuid": "5430849c-6922-4ecf-a535-cf1d5c804b2c"}, "o": {"_id": 7, "a": "x"},
    "ts": {"$timestamp": {"t": 1656074879, "i": 2}}, "t": {"$numberLong": "7"}, "v": {"$numberLong": "2"},
    "wall": {"$date": "2022-06-24T12:47:59.109Z"}, "stmtId": 0,
    "prevOpTime": {"ts": {"$timestamp": {"t": 0, "i": 0}}, "t": {"$numberLong": "-1"}}})");
}
Document updateEntry() {
  return *fromJson(R"({
    "op": "u", "ns": "shop.orders", "ui": {"$uuid": "5430849c-6922-4ecf-a535-cf1d5c804b2c"},
    "o": {"$v": 2, "diff": {"u": {"a": "y"}}}, "o2": {"_id": 7}, "fromMigrate": true,
    "ts": {"$timestamp": {"t": 1656074880, "i": 1}}, "t": {"$numberLong": "7"}, "v": {"$numberLong": "2"},
    "wall": {"$date": "2022-06-24T12:48:00.000Z"}, "stmtId": [1, 2], "lsid": {}})");
}

/// The entry with a field set to a JSON value, or without it.
Document altered(View entry, std::string_view name, const char* json) {
  Builder builder;
  const Document value = json ? *fromJson(std::string(R"({"v": )") + json + "}") : Document();
  for (const Element& field : entry) {
    if (field.name() != name) builder.append(field);
  }
  if (json) builder.append(name, value["v"]);
  return builder.finish();
}

std::string entryFailure(View entry) {
  const auto parsed = OplogEntry::parse(entry);
  if (parsed.isOK()) return "";
  EXPECT_EQ(parsed.status(), ErrorCode::kFailedToParse);
  return parsed.status().reason();
}

// OPL-006, OPL-007
TEST(OplogEntry, HasTheFieldsThatDriversAndToolsKnow) {
  const Document document = doc("_id", 7, "a", "x"),
                 session = doc("id", *Uuid::fromString("cb05cafc-c6e5-499a-904f-70e5f42506ed"));
  OplogEntry entry;
  entry.operation = {OplogKind::kInsert, "shop.orders", kOrders, document, {}, false};
  entry.opTime = {7, {1656074879, 2}};
  entry.wall = {1656074879109};
  entry.session = session;
  entry.txnNumber = 1;
  entry.statements = {0};
  entry.previousOpTime = OpTime{-1, {0, 0}};
  EXPECT_EQ(toCanonicalJson(entry.toDocument()), toCanonicalJson(insertEntry()));
}

TEST(OplogEntry, IsReadBackAsItWasWritten) {
  const Document document = insertEntry();
  const auto entry = OplogEntry::parse(document);
  ASSERT_TRUE(entry.isOK()) << entry.status().toString();
  EXPECT_EQ(entry->operation.kind, OplogKind::kInsert);
  EXPECT_EQ(entry->operation.ns, "shop.orders");
  EXPECT_EQ(entry->operation.uuid, kOrders);
  EXPECT_EQ(entry->opTime, (OpTime{7, {1656074879, 2}}));
  EXPECT_EQ(entry->previousOpTime, (OpTime{-1, {0, 0}}));
  EXPECT_EQ(entry->statements, std::vector<int32_t>{0});
  EXPECT_EQ(entry->toDocument(), document);

  const Document update = updateEntry();
  const auto second = OplogEntry::parse(update);
  ASSERT_TRUE(second.isOK()) << second.status().toString();
  EXPECT_TRUE(second->operation.fromMigration);
  EXPECT_EQ((*second->operation.other)["_id"].asInt32(), 7);
  EXPECT_EQ(second->statements, (std::vector<int32_t>{1, 2}));
  const auto again = second->toDocument();
  EXPECT_EQ(OplogEntry::parse(again)->toDocument(), again);
}

TEST(OplogEntry, SaysWhatIsWrongWithIt) {
  const Document insert = insertEntry(), update = updateEntry();
  for (const char* name : {"op", "ns", "ui", "o", "ts", "t", "v", "wall"}) {
    EXPECT_EQ(entryFailure(altered(insert, name, nullptr)), "oplog entry: '" + std::string(name) + "' is missing");
    const std::string wrongType = "oplog entry: '" + std::string(name) + "' must be of type ";
    EXPECT_TRUE(entryFailure(altered(insert, name, "null")).starts_with(wrongType)) << name;
  }
  EXPECT_EQ(entryFailure(altered(insert, "op", "\"x\"")), "oplog entry: the operation 'x' is not known");
  EXPECT_EQ(entryFailure(altered(insert, "v", R"({"$numberLong": "1"})")), "oplog entry: 'v' must be 2");
  EXPECT_EQ(entryFailure(altered(insert, "ns", "\"shop\"")), "oplog entry: 'ns' must name a collection");
  EXPECT_EQ(entryFailure(altered(insert, "ui", R"({"$binary": {"base64": "AAAA", "subType": "00"}})")),
            "oplog entry: 'ui' must be a UUID");
  EXPECT_EQ(entryFailure(altered(insert, "h", "1")), "oplog entry: the field 'h' is not known");
  EXPECT_EQ(entryFailure(altered(insert, "lsid", nullptr)),
            "oplog entry: 'txnNumber', 'stmtId', 'postImageOpTime' and 'needsRetryImage' need an 'lsid'");
  EXPECT_EQ(entryFailure(altered(insert, "stmtId", "[1, \"x\"]")),
            "oplog entry: 'stmtId' must be an int or an array of such");
  EXPECT_EQ(entryFailure(altered(insert, "prevOpTime", R"({"t": {"$numberLong": "1"}})")),
            "oplog entry: 'prevOpTime': 'ts' is missing");
  EXPECT_EQ(entryFailure(altered(update, "o2", "{}")), "oplog entry: the 'o2' of an update must have an '_id'");
  EXPECT_EQ(entryFailure(altered(altered(insert, "op", "\"d\""), "o", "{}")),
            "oplog entry: the 'o' of a removal must have an '_id'");
  EXPECT_EQ(entryFailure(altered(insert, "op", "\"c\"")), "oplog entry: a command must have the namespace 'db.$cmd'");
  Builder twice;
  twice.appendAll(insert).append("ns", "shop.orders");
  EXPECT_EQ(entryFailure(twice.finish()), "oplog entry: the field 'ns' is there twice");
}

TEST(OplogEntry, ANoteNeedsNoCollection) {
  OplogEntry note;
  const Document message = doc("msg", "periodic noop");
  note.operation.object = message;
  note.opTime = {1, {5, 1}};
  const Document document = note.toDocument();
  EXPECT_EQ(
      toRelaxedJson(document),
      R"({ "op" : "n", "ns" : "", "o" : { "msg" : "periodic noop" }, "ts" : { "$timestamp" : { "t" : 5, "i" : 1 } }, )"
      R"("t" : 1, "v" : 2, "wall" : { "$date" : "1970-01-01T00:00:00Z" } })");
  EXPECT_EQ(entryFailure(document), "");
}

}  // namespace
}  // namespace troupe::storage
