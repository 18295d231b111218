// The same rows as members write, by raw WiredTiger: what the replication benchmarks (run.py) compare with. Prints the
// seconds that it took.
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
constexpr int64_t kCacheBytes = int64_t{1} << 30;

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

/// What an applier writes for inserts or updates: the row, for an insert its key in the index, and the entry in a table
/// that is logged; a hundred entries a transaction, on as many threads as a member has writers for two cores.
void applyPart(WT_CONNECTION* connection, int64_t first, int64_t count, const std::string& text, bool updates) {
  WT_SESSION* session = openRawSession(connection);
  WT_CURSOR* rows = openCursor(session, "table:rows", "overwrite=true");
  WT_CURSOR* ids = openCursor(session, "table:ids", "overwrite=true");
  WT_CURSOR* log = openCursor(session, "table:log", "overwrite=true");
  const int64_t base = updates ? int64_t{1} << 40 : 0;
  for (int64_t i = first; i < first + count; ++i) {
    if (i % 100 == 0 || i == first) requireRaw(session->begin_transaction(session, nullptr));
    const bson::Document document = documentOf(i, text, updates ? 1 : 0);
    const bson::Document change = updates ? bson::doc("$v", 2, "diff", bson::doc("u", bson::doc("n", 1))) : document;
    const bson::Document entry =
        bson::doc("op", updates ? "u" : "i", "ns", "bench.docs", "o", change, "o2", bson::doc("_id", i));
    put(rows, storage::RecordKey(i), document.view().bytes());
    if (!updates) put(ids, keyOf(i), storage::RecordKey(i));
    put(log, keyOf(base + i), entry.view().bytes());
    if (i % 100 == 99 || i + 1 == first + count) requireRaw(session->commit_transaction(session, nullptr));
  }
  requireRaw(session->close(session, nullptr));
}

double applyAll(WT_CONNECTION* connection, int64_t count, const std::string& text, bool updates) {
  const auto begun = std::chrono::steady_clock::now();
  std::thread other(
      [&] { applyPart(connection, count / 2 / 100 * 100, count - count / 2 / 100 * 100, text, updates); });
  applyPart(connection, 0, count / 2 / 100 * 100, text, updates);
  other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
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
      const double updates = applyAll(connection, count, text, true);
      std::printf("{\"inserts\":%.3f,\"updates\":%.3f}\n", inserts, updates);
    }
    requireRaw(connection->close(connection, nullptr));
  });
}
