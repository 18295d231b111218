// $_internalFindAndModifyImageLookup: entries whose images are kept aside become those of the classic way (SES-024).
#include "test/unit/actors/commands/retryable_write_fixture.hpp"

namespace troupe::commands {
using namespace server;

class ImageLookupTest : public RetryableWriteTest {
 protected:
  static constexpr const char* kLookUp = R"({"$_internalFindAndModifyImageLookup": {}})";
  static constexpr const char* kUpdate =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "stmtId": 3})";
  static constexpr const char* kUpdateNew =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "new": true, "stmtId": 3})";
  static constexpr const char* kRemove = R"({"findAndModify": "c", "query": {"_id": 1}, "remove": true, "stmtId": 3})";
  static constexpr const char* kUpsert =
      R"({"findAndModify": "c", "query": {"_id": 2}, "update": {"$inc": {"n": 1}}, "upsert": true, "stmtId": 3})";

  void setAside(bool aside) {
    ASSERT_TRUE(
        server.run(bson::doc("setParameter", 1, "storeFindAndModifyImagesInSideCollection", aside), "admin")["ok"]
            .truthy());
  }
  static std::vector<bson::Document> documents(const bson::Element& batch) {
    std::vector<bson::Document> found;
    for (const bson::Element& e : batch.asArray()) found.emplace_back(e.asDocument());
    return found;
  }
  /// What a pipeline, given as the stages between the brackets, makes of the log.
  std::vector<bson::Document> ofLog(const std::string& stages) {
    const bson::Document reply =
        run(R"({"aggregate": "oplog.rs", "cursor": {"batchSize": 1000}, "pipeline": [)" + stages + "]}", "local");
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return reply["ok"].truthy() ? documents(reply.view().at("cursor.firstBatch")) : std::vector<bson::Document>();
  }
  bson::Timestamp lastTime() { return ofLog(R"({"$sort": {"ts": -1}}, {"$limit": 1})").at(0)["ts"].asTimestamp(); }
  /// The entries about the collection after that time, with further stages.
  std::vector<bson::Document> entriesSince(bson::Timestamp time, const std::string& more = "") {
    const std::string since = bson::toRelaxedJson(bson::doc("ts", bson::doc("$gt", time), "ns", "test.c"));
    return ofLog("{\"$match\": " + since + "}" + (more.empty() ? "" : ", " + more));
  }
  /// Without what differs from one attempt to the next: times as how far they lie before the last entry's.
  static std::vector<std::string> shape(const std::vector<bson::Document>& entries, bool isSession = true) {
    std::vector<std::string> lines;
    for (const bson::Document& entry : entries) {
      const auto back = [&](const bson::Element& time) {
        return int64_t{entries.back()["ts"].asTimestamp().increment} - time.asTimestamp().increment;
      };
      bson::Builder line;
      for (const bson::Element& e : entry.view()) {
        const auto name = e.name();
        const bool isOfSession = name == "lsid" || name == "txnNumber" || name == "stmtId";
        if (name == "wall" || name == "prevOpTime" || name == "txnNumber") continue;
        if (isOfSession && !isSession && entry["op"].toStringOr() == "n") continue;
        if (name == "ts") line.append(name, back(e));
        else if (name.ends_with("ImageOpTime")) line.append(name, back(e.asDocument()["ts"]));
        else line.append(e);
      }
      lines.push_back(bson::toRelaxedJson(line.finish()));
    }
    return lines;
  }
  /// The document with which each attempt begins; then the attempt's entries.
  std::vector<bson::Document> entriesOf(const char* command, bool aside, const std::string& more = "") {
    setAside(aside);
    EXPECT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"));
    EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
    const bson::Timestamp before = lastTime();
    EXPECT_TRUE(send(command, ++number)["ok"].truthy());
    return entriesSince(before, more);
  }
  void expectClassicForm(const char* command, size_t entries) {
    const auto classic = entriesOf(command, false), kept = entriesOf(command, true, kLookUp);
    ASSERT_EQ(classic.size(), entries) << command;
    EXPECT_EQ(shape(kept, false), shape(classic, false)) << command;
    const bson::Document& write = kept.back();
    for (const bson::Document& entry : kept) {
      if (!entry.view().has("lsid")) continue;  // a note of the collection's own
      for (const char* name : {"lsid", "txnNumber", "stmtId", "t", "ui"})
        EXPECT_TRUE(entry[name].ok() && entry[name].identical(write[name])) << name << " after " << command;
    }
    EXPECT_EQ(write["txnNumber"].toInt64(), number);
    EXPECT_EQ(write["stmtId"].toInt64(), 3);
  }

  int64_t number = 0;
};

TEST_F(ImageLookupTest, MakesTheEntriesThatTheClassicWayWrites) {
  for (const char* command : {kUpdate, kUpdateNew, kRemove}) expectClassicForm(command, 2);
  expectClassicForm(kUpsert, 1);
  const auto forged = entriesOf(kUpdateNew, true, kLookUp);
  ASSERT_EQ(forged.size(), 2u);
  EXPECT_TRUE(forged[0]["wall"].identical(forged[1]["wall"]));
  EXPECT_TRUE(forged[0].view().has("lsid")) << "the note is of the session, too";
  EXPECT_EQ(bson::toRelaxedJson(forged[0]["o"].asDocument()), R"({ "_id" : 1, "n" : 1 })");
  const bson::View place = forged[1]["postImageOpTime"].asDocument();
  EXPECT_TRUE(place["ts"].identical(forged[0]["ts"]) && place["t"].identical(forged[0]["t"]));
}

TEST_F(ImageLookupTest, LeavesAloneWhatCollectionsRecord) {  // SES-025
  ASSERT_TRUE(succeeds(R"({"create": "c", "changeStreamPreAndPostImages": {"enabled": true}})"));
  expectClassicForm(kUpdateNew, 3);
  expectClassicForm(kRemove, 2);
  const auto recorded = shape(entriesOf(kUpdate, true));
  EXPECT_EQ(recorded.size(), 2u);
  EXPECT_EQ(shape(entriesOf(kUpdate, true, kLookUp)), recorded) << "the collection's note answers a retry";
}

TEST_F(ImageLookupTest, AnImageThatIsNotTheEntrysIsLeftOut) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
  const bson::Timestamp before = lastTime();
  ASSERT_TRUE(send(kUpdate, 1)["ok"].truthy());
  const bson::Timestamp between = lastTime();
  ASSERT_TRUE(send(kUpdateNew, 2)["ok"].truthy());
  const auto both = shape(entriesSince(before)), forged = shape(entriesSince(before, kLookUp));
  ASSERT_EQ(both.size(), 2u);
  ASSERT_EQ(forged.size(), 3u) << "the first one's image is no longer there";
  EXPECT_NE(both[0].find("needsRetryImage"), std::string::npos);
  for (const auto& line : forged) EXPECT_EQ(line.find("needsRetryImage"), std::string::npos) << line;
  EXPECT_EQ(forged[0].find("ImageOpTime"), std::string::npos) << forged[0];
  EXPECT_NE(forged[2].find("postImageOpTime"), std::string::npos) << forged[2];
  const auto expectNoImage = [&](const char* command) {
    ASSERT_TRUE(succeeds(command, "config"));
    const auto left = shape(entriesSince(between, kLookUp));
    ASSERT_EQ(left.size(), 1u) << command;
    EXPECT_EQ(left[0].find("ImageOpTime"), std::string::npos) << left[0];
    EXPECT_EQ(left[0].find("needsRetryImage"), std::string::npos) << left[0];
  };
  const auto changed = [](const char* change) {
    return std::string(R"({"update": "image_collection", "updates": [{"q": {}, "u": )") + change + "}]}";
  };
  expectNoImage(changed(R"({"$set": {"invalidated": true}})").c_str());
  expectNoImage(changed(R"({"$set": {"invalidated": false, "txnNum": {"$numberLong": "1"}}})").c_str());
  ASSERT_TRUE(succeeds(changed(R"({"$set": {"txnNum": {"$numberLong": "2"}}})"), "config"));
  EXPECT_EQ(entriesSince(between, kLookUp).size(), 2u) << "it is the right one again";
  expectNoImage(changed(R"({"$set": {"ts": {"$timestamp": {"t": 1, "i": 1}}}})").c_str());
  expectNoImage(R"({"delete": "image_collection", "deletes": [{"q": {}, "limit": 0}]})");
}

TEST_F(ImageLookupTest, OtherEntriesPassAsTheyAre) {
  setAside(false);
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}, {"_id": 2}]})"));
  ASSERT_TRUE(
      send(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"needsRetryImage": "x"}}}]})", 1)["ok"]
          .truthy());
  ASSERT_TRUE(send(kUpdateNew, 2)["ok"].truthy());
  ASSERT_TRUE(send(kRemove, 3)["ok"].truthy());
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]})"));
  const auto plain = ofLog(""), passed = ofLog(kLookUp);
  EXPECT_GT(plain.size(), 6u);
  EXPECT_EQ(passed, plain);
}

TEST_F(ImageLookupTest, BothEntriesFollowEachOtherThroughFurtherStagesAndBatches) {
  const auto before = entriesOf(kUpdate, true);
  ASSERT_EQ(before.size(), 1u);
  const std::string match = bson::toRelaxedJson(bson::doc("$match", bson::doc("ts", before[0]["ts"])));
  EXPECT_EQ(ofLog(match + ", " + kLookUp + R"(, {"$match": {"op": "n"}})").size(), 1u);
  EXPECT_EQ(ofLog(match + ", " + kLookUp + R"(, {"$limit": 1})").at(0)["op"].toStringOr(), "n");
  EXPECT_EQ(
      ofLog(R"({"$limit": 1}, {"$unionWith": {"coll": "oplog.rs", "pipeline": [)" + match + ", " + kLookUp + "]}}")
          .size(),
      3u);
  const bson::Document opened =
      run(R"({"aggregate": "oplog.rs", "cursor": {"batchSize": 1}, "pipeline": [)" + match + ", " + kLookUp + "]}",
          "local");
  const auto first = documents(opened.view().at("cursor.firstBatch"));
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(succeeds(R"({"delete": "image_collection", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  const bson::Document more = server.run(
      bson::doc("getMore", opened.view().at("cursor.id").toInt64(), "collection", "oplog.rs", "batchSize", 10),
      "local");
  const auto second = documents(more.view().at("cursor.nextBatch"));
  ASSERT_EQ(second.size(), 1u) << bson::toRelaxedJson(more);
  EXPECT_EQ(first[0]["op"].toStringOr(), "n");
  EXPECT_TRUE(second[0].view().has("preImageOpTime")) << "it refers to the note that was handed out";
}

TEST_F(ImageLookupTest, IsForServersAmongThemselves) {
  const auto codeOfStages = [&](const std::string& stages) {
    return code(R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stages + "]}");
  };
  const auto failedToParse = static_cast<int64_t>(ErrorCode::kFailedToParse);
  EXPECT_EQ(codeOfStages(R"({"$_internalFindAndModifyImageLookup": {"a": 1}})"), failedToParse);
  EXPECT_EQ(codeOfStages(R"({"$_internalFindAndModifyImageLookup": 1})"), failedToParse);
  EXPECT_EQ(codeOfStages(std::string(R"({"$facet": {"a": [)") + kLookUp + "]}}"), 40600);
  EXPECT_EQ(code(std::string(R"({"create": "v", "viewOn": "c", "pipeline": [)") + kLookUp + "]}"), kInvalidOptions);
  const bson::Document update = run(std::string(R"({"update": "c", "updates": [{"q": {}, "u": [)") + kLookUp + "]}]}");
  EXPECT_EQ(update.view().at("writeErrors.0.code").toInt64(), kInvalidOptions) << bson::toRelaxedJson(update);
  EXPECT_EQ(
      code(std::string(R"({"aggregate": "c", "cursor": {}, "apiVersion": "1", "apiStrict": true, "pipeline": [)") +
           kLookUp + "]}"),
      static_cast<int64_t>(ErrorCode::kAPIStrictError));
}

}  // namespace troupe::commands
