#include "storage/oplog/logged_command.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::storage {
namespace {

using namespace bson;

const Uuid kLogged = *Uuid::fromString("5430849c-6922-4ecf-a535-cf1d5c804b2c");
const Uuid kAnother = *Uuid::fromString("00000000-1111-4222-8333-444444444444");

/// Encodes the command, checks that it is read back to the same bytes, and gives "o" or "o; o2" as text.
std::string roundTrip(const LoggedCommand& command) {
  const CommandObjects objects = encode(command);
  LoggedOperation operation{OplogKind::kCommand, "db.$cmd", kLogged, objects.object, {}, false};
  if (objects.other) operation.other = objects.other->view();
  const auto parsed = parseCommand(operation);
  EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
  if (!parsed.isOK()) return "";
  EXPECT_EQ(parsed->index(), command.index());
  const CommandObjects again = encode(*parsed);
  EXPECT_EQ(again.object, objects.object);
  EXPECT_EQ(again.other, objects.other);
  return toRelaxedJson(objects.object) + (objects.other ? "; " + toRelaxedJson(*objects.other) : "");
}

std::string commandFailure(const char* object, bool withUuid = true, const char* other = nullptr) {
  const Document document = *fromJson(object);
  LoggedOperation operation{OplogKind::kCommand, "db.$cmd", std::nullopt, document, {}, false};
  if (withUuid) operation.uuid = kLogged;
  const Document second = other ? *fromJson(other) : Document();
  if (other) operation.other = second.view();
  const auto parsed = parseCommand(operation);
  return parsed.isOK() ? "" : parsed.status().reason();
}

TEST(LoggedCommand, OfCollectionsLooksAsInTheLog) {
  EXPECT_EQ(roundTrip(LoggedCreate{"c", doc("capped", true, "size", 4096),
                                   doc("v", 2, "key", doc("_id", 1), "name", "_id_")}),
            R"({ "create" : "c", "capped" : true, "size" : 4096, )"
            R"("idIndex" : { "v" : 2, "key" : { "_id" : 1 }, "name" : "_id_" } })");
  EXPECT_EQ(roundTrip(LoggedDrop{"c", 12}), R"({ "drop" : "c" }; { "numRecords" : 12 })");
  EXPECT_EQ(roundTrip(LoggedDrop{"view", {}}), R"({ "drop" : "view" })");
  EXPECT_EQ(roundTrip(LoggedRename{"db.a", "db.b", false, kAnother, 3}),
            R"({ "renameCollection" : "db.a", "to" : "db.b", "stayTemp" : false, "dropTarget" : )"
            R"({ "$binary" : { "base64" : "AAAAABERQiKDM0RERERERA==", "subType" : "04" } } }; { "numRecords" : 3 })");
  EXPECT_EQ(roundTrip(LoggedRename{"db.a", "db.b", true, {}, {}}),
            R"({ "renameCollection" : "db.a", "to" : "db.b", "stayTemp" : true })");
  EXPECT_EQ(roundTrip(LoggedModify{"c", doc("validationLevel", "off"), doc("validationLevel", "strict")}),
            R"({ "collMod" : "c", "validationLevel" : "off" }; )"
            R"({ "collectionOptions_old" : { "validationLevel" : "strict" } })");
  EXPECT_EQ(roundTrip(LoggedDropDatabase{}), R"({ "dropDatabase" : 1 })");
  EXPECT_EQ(roundTrip(LoggedTruncate{"c"}), R"({ "emptycapped" : "c" })");
}

TEST(LoggedCommand, OfIndexesLooksAsInTheLog) {
  const Document spec = doc("v", 2, "key", doc("a", 1), "name", "a_1");
  EXPECT_EQ(roundTrip(LoggedCreateIndex{"c", spec}),
            R"({ "createIndexes" : "c", "v" : 2, "key" : { "a" : 1 }, "name" : "a_1" })");
  EXPECT_EQ(roundTrip(LoggedDropIndex{"c", "a_1", spec}),
            R"({ "dropIndexes" : "c", "index" : "a_1" }; { "v" : 2, "key" : { "a" : 1 }, "name" : "a_1" })");
  using Step = LoggedIndexBuild::Step;
  const std::string fields =
      R"( : "c", "indexBuildUUID" : { "$binary" : { "base64" : "AAAAABERQiKDM0RERERERA==", "subType" : "04" } }, )"
      R"("indexes" : [ { "v" : 2, "key" : { "a" : 1 }, "name" : "a_1" } ])";
  EXPECT_EQ(roundTrip(LoggedIndexBuild{Step::kStart, "c", kAnother, {spec}, {}}),
            "{ \"startIndexBuild\"" + fields + " }");
  EXPECT_EQ(roundTrip(LoggedIndexBuild{Step::kCommit, "c", kAnother, {spec}, {}}),
            "{ \"commitIndexBuild\"" + fields + " }");
  EXPECT_EQ(roundTrip(LoggedIndexBuild{Step::kAbort, "c", kAnother, {spec}, doc("ok", false)}),
            "{ \"abortIndexBuild\"" + fields + R"(, "cause" : { "ok" : false } })");
}

// OPL-013
TEST(LoggedCommand, AGroupHoldsOperations) {
  const Document document = doc("_id", 1);
  Builder element;
  LoggedOperation{OplogKind::kRemove, "db.c", kLogged, document, {}, false}.appendTo(element);
  EXPECT_EQ(
      roundTrip(LoggedGroup{{element.finish()}}),
      R"({ "applyOps" : [ { "op" : "d", "ns" : "db.c", )"
      R"("ui" : { "$binary" : { "base64" : "VDCEnGkiTs+lNc8dXIBLLA==", "subType" : "04" } }, "o" : { "_id" : 1 } } ] })");
}

TEST(LoggedCommand, SaysWhatIsWrongWithIt) {
  const auto says = [](std::string_view command, std::string_view reason) {
    return "command of the oplog: " + std::string(command) + ": " + std::string(reason);
  };
  EXPECT_EQ(commandFailure(R"({"drop": 1})"), says("drop", "'drop' must be of type string, not int"));
  EXPECT_EQ(commandFailure(R"({"drop": ""})"), says("drop", "the collection's name must not be empty"));
  EXPECT_EQ(commandFailure(R"({"drop": "c", "x": 1})"), says("drop", "the field 'x' is not known"));
  EXPECT_EQ(commandFailure(R"({"drop": "c"})", true, R"({"numRecords": "x"})"),
            says("drop", "'numRecords' must be of type long, not string"));
  EXPECT_EQ(commandFailure(R"({"renameCollection": "db.a"})"), says("renameCollection", "'to' is missing"));
  EXPECT_EQ(commandFailure(R"({"renameCollection": "db.a", "to": "db.b"})", false),
            says("renameCollection", "'ui' is missing"));
  EXPECT_EQ(commandFailure(R"({"renameCollection": "db.a", "to": "db.b", "dropTarget": true})"),
            says("renameCollection", "'dropTarget' must be of type binData, not bool"));
  EXPECT_EQ(commandFailure(R"({"createIndexes": "c", "name": "a_1"})"), says("createIndexes", "'key' is missing"));
  EXPECT_EQ(commandFailure(R"({"startIndexBuild": "c", "indexes": [{}]})"),
            says("startIndexBuild", "'indexBuildUUID' is missing"));
  const char* kBuild = R"({"commitIndexBuild": "c", "cause": {}, "indexes": [{}],
                           "indexBuildUUID": {"$uuid": "00000000-1111-4222-8333-444444444444"}})";
  EXPECT_EQ(commandFailure(kBuild), says("commitIndexBuild", "only an abort has a 'cause'"));
  EXPECT_EQ(commandFailure(R"({"applyOps": [1]})"), says("applyOps", "'applyOps' must hold documents"));
  EXPECT_EQ(commandFailure(R"({"applyOps": []})"), says("applyOps", "'applyOps' must not be empty"));
  EXPECT_EQ(commandFailure(R"({"applyOps": [{"op": "i", "ns": "db.c", "o": {}}]})"),
            "operation of a group: 'ui' is missing");
  EXPECT_EQ(commandFailure(R"({"applyOps": [{"op": "c", "ns": "db.$cmd", "o": {"applyOps": []}}]})"),
            says("applyOps", "a group must not hold another"));
  EXPECT_EQ(commandFailure(R"({"shutdown": 1})"), "oplog entry: there is no command 'shutdown'");
}

}  // namespace
}  // namespace troupe::storage
