#pragma once
#include <memory>
#include <string>
#include <vector>

#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_writer.hpp"
#include "test/unit/storage/oplog/replicated_fixture.hpp"

namespace troupe::storage {

/// The storage of a primary that writes its oplog. Its collection test.c is older than the log.
class OplogWriterFixture : public ReplicatedFixture {
 protected:
  OplogWriterFixture() {
    operation.reset();
    observers = {&writer};
    restart();
    openLog();
  }
  ~OplogWriterFixture() override {
    operation.reset();
    store.reset();
  }

  /// The node comes back, after a crash or with another role: with a new clock, as each process has.
  void openLog() {
    startClock();
    const auto size = catalog->sizes().of(OplogStore::kIdent);
    auto opened = OplogStore::open(harness->engine(), *pool, {}, writes->visibility, size);
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    store = std::move(opened).value();
    ASSERT_TRUE(showOplog(*catalog, {}).isOK());
    writer.attach(*store);
    writes->slots.resetTo(writes->visibility.get());
    begin();
  }

  /// The entries visible to a reader of the log.
  std::vector<bson::Document> log() {
    OperationContext reader({.sessions = *pool});
    auto cursor = store->cursor(reader.recoveryUnit());
    EXPECT_TRUE(cursor.isOK()) << cursor.status().toString();
    std::vector<bson::Document> entries;
    while (*cursor->next()) entries.emplace_back(cursor->entry());
    return entries;
  }
  /// Operations of the log, "i{ "_id" : 1 }" each; of updates with what identifies the document.
  std::vector<std::string> operations() {
    std::vector<std::string> texts;
    for (const bson::Document& document : log()) {
      const auto entry = OplogEntry::parse(document);
      EXPECT_TRUE(entry.isOK()) << entry.status().toString() << ": " << bson::toRelaxedJson(document);
      if (!entry.isOK()) continue;
      texts.push_back(std::string(1, static_cast<char>(entry->operation.kind)) +
                      bson::toRelaxedJson(entry->operation.object));
      if (entry->operation.kind == OplogKind::kUpdate) texts.back() += bson::toRelaxedJson(*entry->operation.other);
    }
    return texts;
  }
  /// The ids of documents, in the order of the collection.
  std::vector<int> ids(const char* ns = "test.c") {
    OperationContext reader({.sessions = *pool});
    auto cursor = current(ns)->records().cursor(reader.recoveryUnit());
    std::vector<int> found;
    while (*cursor->next()) found.push_back(cursor->document()["_id"].asInt32());
    return found;
  }
  std::vector<int> insertedIds() {
    std::vector<int> found;
    for (const bson::Document& entry : log()) found.push_back(entry["o"].asDocument()["_id"].asInt32());
    return found;
  }
  Status insertAll(const std::vector<int>& wanted, UnitLogging logging = UnitLogging::kEach) {
    std::vector<bson::Document> documents;
    for (const int id : wanted) documents.push_back(bson::doc("_id", id));
    const std::vector<bson::View> views(documents.begin(), documents.end());
    return inUnit([&] { return current()->insertMany(rec(), views); }, logging);
  }

  OplogWriter writer{[] { return int64_t{1'700'000'000'123}; }};
  std::unique_ptr<OplogStore> store;
};

}  // namespace troupe::storage
