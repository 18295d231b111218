// The same rows as members write, by raw WiredTiger: what the replication benchmarks (run.py) compare with. Prints the
// seconds that it took.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/records/record_id.hpp"
#include "test/bench/support/directory.hpp"
#include "test/bench/support/measure.hpp"
#include "test/bench/support/raw_wiredtiger.hpp"
#include "test/bench/support/store.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

constexpr const char* kPlainTable =
    "key_format=u,value_format=u,allocation_size=512,memory_page_max=10m,split_pct=90,leaf_value_max=64MB,"
    "block_compressor=snappy,log=(enabled=false)";
constexpr int64_t kCacheBytes = int64_t{512} << 20;  // as the members that it is compared with: servers.py
constexpr int64_t kBatch = 100;                      // rows of a transaction
constexpr uint64_t kFirstTime = uint64_t{1'700'000'000} << 32;

std::string keyOf(int64_t number) {
  storage::key_string::Builder key;
  const auto document = bson::doc("k", number);
  key.append(document.view()["k"]);
  return std::string(key.bytes());
}

void put(WT_CURSOR* cursor, std::string_view key, std::string_view value) {
  WT_ITEM k = rawItem(key), v = rawItem(value);
  cursor->set_key(cursor, &k);
  cursor->set_value(cursor, &v);
  requireRaw(cursor->insert(cursor));
}

WT_CURSOR* openCursor(WT_SESSION* session, const char* table, const char* config = nullptr) {
  WT_CURSOR* cursor = nullptr;
  requireRaw(session->open_cursor(session, table, nullptr, config, &cursor));
  return cursor;
}

std::string textOf(size_t bytes) {
  RecordMaker maker(bytes);
  std::string text;
  while (text.size() < bytes) text += maker.text();
  text.resize(bytes);
  return text;
}

bson::Document documentOf(int64_t number, const std::string& text, int updated) {
  return bson::doc("_id", number, "a", number, "b", number % 1000, "text", text, "n", updated);
}

bson::Document entryOf(int64_t number, int64_t time, const std::string& text, bool updates) {
  static const bson::Uuid collection{};
  const auto stampOf = bson::Timestamp::fromUint64(kFirstTime + static_cast<uint64_t>(time));
  const bson::Document document =
      updates ? bson::doc("$v", 2, "diff", bson::doc("u", bson::doc("n", 1))) : documentOf(number, text, 0);
  return bson::doc("op", updates ? "u" : "i", "ns", "bench.docs", "ui", collection, "o", document, "o2",
                   bson::doc("_id", number), "ts", stampOf, "t", int64_t{1}, "v", int64_t{2}, "wall", bson::Date{time});
}

/// The cursors of one writer. An update is what an applier cannot do without: the row is found by its `_id`, read,
/// and written with one field changed.
struct Writer {
  explicit Writer(WT_CONNECTION* connection)
      : session(openRawSession(connection)),
        rows(openCursor(session, "table:rows", "overwrite=true")),
        ids(openCursor(session, "table:ids", "overwrite=true")),
        log(openCursor(session, "table:log", "overwrite=true")) {}

  void insert(int64_t number, const std::string& text) {
    put(rows, storage::RecordKey(number), documentOf(number, text, 0).view().bytes());
    put(ids, keyOf(number), storage::RecordKey(number));
  }
  void update(int64_t number, const std::string& text) {
    const std::string id = keyOf(number);
    WT_ITEM key = rawItem(id), found{};
    ids->set_key(ids, &key);
    requireRaw(ids->search(ids));
    requireRaw(ids->get_value(ids, &found));
    rows->set_key(rows, &found);
    requireRaw(rows->search(rows));
    requireRaw(rows->get_value(rows, &found));
    const bson::View before(static_cast<const char*>(found.data));
    const bson::Document after = documentOf(before["_id"].asInt64(), text, 1);
    WT_ITEM value = rawItem(after.view().bytes());
    rows->set_value(rows, &value);
    requireRaw(rows->update(rows));
    requireRaw(ids->reset(ids));
  }

  WT_SESSION* session;
  WT_CURSOR *rows, *ids, *log;
};

constexpr int kWriters = 2;  // as a member has for two cores

/// What an applier writes for inserts or updates: the entries in a table that is logged, then the rows, and for inserts
/// their keys in the index. A hundred entries a transaction, and every other hundred by the same writer. Without the
/// times that a member gives its rows: what they cost is the price of a member, not of the engine.
void applyPart(WT_CONNECTION* connection, int part, int64_t count, const std::string& text, bool updates) {
  Writer writer(connection);
  WT_SESSION* const session = writer.session;
  const int64_t base = updates ? count : 0;
  for (int64_t first = part * kBatch; first < count; first += kBatch * kWriters) {
    const int64_t end = std::min(first + kBatch, count);
    requireRaw(session->begin_transaction(session, nullptr));
    for (int64_t i = first; i < end; ++i)
      put(writer.log, keyOf(base + i + 1), entryOf(i, base + i + 1, text, updates).view().bytes());
    requireRaw(session->commit_transaction(session, nullptr));
    requireRaw(session->begin_transaction(session, nullptr));
    for (int64_t i = first; i < end; ++i) {
      if (updates) writer.update(i, text);
      else writer.insert(i, text);
    }
    requireRaw(session->commit_transaction(session, nullptr));
  }
  requireRaw(session->close(session, nullptr));
}

double applyAll(WT_CONNECTION* connection, int64_t count, const std::string& text, bool updates) {
  const auto begun = std::chrono::steady_clock::now();
  std::thread other([&] { applyPart(connection, 1, count, text, updates); });
  applyPart(connection, 0, count, text, updates);
  other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// The data as a member has them that was down meanwhile: in files.
WT_CONNECTION* reopen(WT_CONNECTION* connection, const std::string& path) {
  requireRaw(connection->close(connection, nullptr));
  return openRaw(path, kCacheBytes);
}

/// A collection with _id and two more indexes, from the first row to the checkpoint.
double bulkLoad(WT_CONNECTION* connection, int64_t count, const std::string& text) {
  const auto begun = std::chrono::steady_clock::now();
  WT_SESSION* session = openRawSession(connection);
  for (const char* table : {"table:docs", "table:by_id", "table:by_a", "table:by_b"})
    requireRaw(session->create(session, table, kPlainTable));
  WT_CURSOR* docs = openCursor(session, "table:docs", "bulk");
  for (int64_t i = 0; i < count; ++i) put(docs, storage::RecordKey(i), documentOf(i, text, 0).view().bytes());
  requireRaw(docs->close(docs));
  for (const char* table : {"table:by_id", "table:by_a", "table:by_b"}) {
    WT_CURSOR* keys = openCursor(session, table, "bulk");
    for (int64_t i = 0; i < count; ++i) put(keys, keyOf(i), storage::RecordKey(i));
    requireRaw(keys->close(keys));
  }
  requireRaw(session->checkpoint(session, nullptr));
  requireRaw(session->close(session, nullptr));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {{"work", "apply"}, {"directory", "/var/tmp"}, {"records", "1000"}, {"bytes", "200"}});
  return run([&] {
    const Directory directory(arguments.text("directory"), {});
    WT_CONNECTION* connection = openRaw(directory.path(), kCacheBytes);
    const int64_t count = arguments.number("records");
    const std::string text = textOf(static_cast<size_t>(arguments.number("bytes")));
    if (arguments.text("work") == "bulk") {
      std::printf("{\"seconds\":%.3f}\n", bulkLoad(connection, count, text));
    } else {
      WT_SESSION* session = openRawSession(connection);
      for (const char* table : {"table:rows", "table:ids"}) requireRaw(session->create(session, table, kPlainTable));
      requireRaw(session->create(session, "table:log", kRawTable));
      const double inserts = applyAll(connection, count, text, false);
      connection = reopen(connection, directory.path());
      const double updates = applyAll(connection, count, text, true);
      std::printf("{\"inserts\":%.3f,\"updates\":%.3f}\n", inserts, updates);
    }
    requireRaw(connection->close(connection, nullptr));
  });
}
