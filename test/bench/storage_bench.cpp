// Inserts inside the server, without network and command, against raw WiredTiger writing the same rows to the same kind
// of tables: what records, indexes, catalog and units of work cost. Prints one JSON line per figure.
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>

#include "messaging/bson/document.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/engine/wiredtiger_engine.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/records/record_id.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/bench/support/directory.hpp"
#include "test/bench/support/measure.hpp"
#include "test/bench/support/raw_wiredtiger.hpp"
#include "test/bench/support/store.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;
using storage::RecordId;
using storage::RecordKey;

constexpr int64_t kCacheBytes = int64_t{2} << 30;

/// Documents that one thread writes in one round, made before the clock starts.
struct Rows {
  std::vector<bson::Document> documents;
  std::vector<std::string> idKeys;
};

Rows makeRows(int count) {
  static std::atomic<uint64_t> next{0};
  const uint64_t first = next.fetch_add(static_cast<uint64_t>(count));
  RecordMaker maker(first + 1);
  Rows rows;
  storage::key_string::Builder key;
  for (int i = 0; i < count; ++i) {
    const Record record = maker.record(first + static_cast<uint64_t>(i));
    bson::Builder builder;
    builder.append("_id", record.key);
    for (size_t f = 0; f < Record::kFields; ++f) builder.append(fieldName(f), record.fields[f]);
    rows.documents.push_back(builder.finish());
    key.reset();
    key.append(rows.documents.back().view()["_id"]);
    rows.idKeys.emplace_back(key.bytes());
  }
  return rows;
}

void require(const Status& status) {
  if (!status.isOK()) throw BenchError(status.toString());
}

/// The server's storage with one collection.
class Troupe {
 public:
  explicit Troupe(const std::string& path) {
    storage::WiredTigerOptions options;
    options.path = path;
    options.cacheBytes = kCacheBytes;
    auto engine = storage::openWiredTiger(options);
    require(engine.status());
    engine_ = std::move(*engine);
    pool_ = std::make_unique<storage::SessionPool>(*engine_);
    auto catalog = storage::openCatalog(*engine_, *pool_);
    require(catalog.status());
    catalog_ = std::move(*catalog);
    storage::RecoveryUnit unit(*pool_);
    storage::WriteUnitOfWork write(unit);
    auto made = storage::createCollection(*catalog_, unit, *storage::Namespace::parse("bench.docs"), {});
    require(made.status());
    require(write.commit());
    collection_ = *made;
  }

  void insert(const Rows& rows, size_t perTransaction) {
    storage::RecoveryUnit unit(*pool_);
    std::vector<bson::View> group;
    for (size_t i = 0; i < rows.documents.size();) {
      group.clear();
      while (group.size() < perTransaction && i < rows.documents.size()) group.push_back(rows.documents[i++]);
      storage::WriteUnitOfWork write(unit);
      require(perTransaction == 1 ? collection_->insert(unit, group[0]).status()
                                  : collection_->insertMany(unit, group));
      require(write.commit());
    }
  }

 private:
  std::unique_ptr<storage::Engine> engine_;
  std::unique_ptr<storage::SessionPool> pool_;
  std::unique_ptr<storage::Catalog> catalog_;
  storage::CollectionPtr collection_;
};

/// The two tables of such a collection, by hand.
class Raw {
 public:
  explicit Raw(const std::string& path) {
    connection_ = openRaw(path, kCacheBytes);
    WT_SESSION* session = openRawSession(connection_);
    for (const char* table : {"table:records", "table:ids"}) requireRaw(session->create(session, table, kRawTable));
    session->close(session, nullptr);
  }
  ~Raw() { connection_->close(connection_, nullptr); }

  void insert(const Rows& rows, size_t perTransaction) {
    WT_SESSION* session = openRawSession(connection_);
    WT_CURSOR* records = nullptr;
    WT_CURSOR* ids = nullptr;
    requireRaw(session->open_cursor(session, "table:records", nullptr, "overwrite=false", &records));
    requireRaw(session->open_cursor(session, "table:ids", nullptr, "overwrite=false", &ids));
    for (size_t i = 0; i < rows.documents.size();) {
      requireRaw(session->begin_transaction(session, nullptr));
      for (size_t n = 0; n < perTransaction && i < rows.documents.size(); ++n, ++i) {
        const RecordKey key(RecordId{next_.fetch_add(1, std::memory_order_relaxed)});
        put(records, key, rows.documents[i].view().bytes());
        put(ids, rows.idKeys[i], key);
      }
      requireRaw(session->commit_transaction(session, nullptr));
    }
    session->close(session, nullptr);
  }

 private:
  static void put(WT_CURSOR* cursor, std::string_view key, std::string_view value) {
    WT_ITEM item = rawItem(key);
    cursor->set_key(cursor, &item);
    item = rawItem(value);
    cursor->set_value(cursor, &item);
    requireRaw(cursor->insert(cursor));
  }

  WT_CONNECTION* connection_ = nullptr;
  std::atomic<int64_t> next_{1};
};

/// Documents per second of one round.
double round(int threads, int documents, const std::function<void(const Rows&)>& insert) {
  std::vector<Rows> rows;
  for (int t = 0; t < threads; ++t) rows.push_back(makeRows(documents));
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::future<void>> running;
  for (const Rows& part : rows) running.push_back(std::async(std::launch::async, [&] { insert(part); }));
  for (auto& one : running) one.get();
  return threads * documents / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv, {{"directory", "/var/tmp"}, {"documents", "20000"}, {"rounds", "5"}});
  return run([&] {
    const Directory directory(arguments.text("directory"), {"troupe", "raw"});
    Troupe ours(directory.path() + "/troupe");
    Raw raw(directory.path() + "/raw");
    const int documents = arguments.number("documents");
    struct {
      const char* work;
      int threads;
      size_t perTransaction;
    } const cases[] = {{"insert inside, 1 thread", 1, 1},
                       {"insert inside, 2 threads", 2, 1},
                       {"insert inside, 128 a transaction", 1, 128}};
    for (const auto& [work, threads, perTransaction] : cases) {
      std::vector<double> mine, reference;
      for (int i = 0; i < arguments.number("rounds"); ++i) {
        mine.push_back(round(threads, documents, [&, n = perTransaction](const Rows& rows) { ours.insert(rows, n); }));
        reference.push_back(
            round(threads, documents, [&, n = perTransaction](const Rows& rows) { raw.insert(rows, n); }));
      }
      report({.work = work,
              .against = "raw WiredTiger, the same table writes",
              .unit = "documents/s",
              .troupe = median(mine),
              .reference = median(reference),
              .floor = 0.6});
    }
  });
}
