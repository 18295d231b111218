#include "supervisors/tree/storage_rows.hpp"

#include <utility>

#include "actors/kernel/node.hpp"

namespace troupe::supervisors {

namespace {

constexpr const char* kParent = "/node/storage";

bson::Document describeEngine(storage::Engine& engine) {
  const auto s = engine.statistics();
  bson::Builder out;
  out.append("version", engine.version()).append("tables", static_cast<int64_t>(engine.listTables().size()));
  out.append("cache",
             bson::doc("bytesInUse", s.cacheBytesInUse, "bytesDirty", s.cacheBytesDirty, "bytesMax", s.cacheBytesMax));
  out.append("log", bson::doc("syncs", s.logSyncs, "bytesWritten", s.logBytesWritten));
  out.append("transactions", bson::doc("begun", s.transactionsBegun, "committed", s.transactionsCommitted, "rolledBack",
                                       s.transactionsRolledBack));
  return out.finish();
}

bson::Document describeCatalog(storage::Catalog& catalog) {
  const auto snapshot = catalog.snapshot();
  int64_t collections = 0, views = 0, indexes = 0;
  const auto databases = snapshot->databases();
  for (const std::string& database : databases) {
    for (const auto& collection : snapshot->collections(database)) {
      ++(collection->isView() ? views : collections);
      indexes += static_cast<int64_t>(collection->indexes().size());
    }
  }
  return bson::doc("version", static_cast<int64_t>(snapshot->version()), "databases",
                   static_cast<int64_t>(databases.size()), "recordStores", collections, "indexes", indexes, "views",
                   views, "droppedAndStillInUse", static_cast<int64_t>(catalog.reaper().size()));
}

bson::Document describeSessions(const storage::SessionPool& pool) {
  const auto s = pool.statistics();
  return bson::doc("open", s.open, "lent", s.lent, "max", s.max);
}

}  // namespace

StorageRows::StorageRows(server::ServerContext& server) : registry_(server.node.registry()) {
  add({.path = "/node/storage/engine",
       .type = "Engine",
       .parent = kParent,
       .describe = [engine = &server.engine] { return describeEngine(*engine); }},
      "holds the tables and their log; its panic ends the process");
  add({.path = "/node/storage/catalog",
       .type = "Catalog",
       .parent = kParent,
       .describe = [catalog = &server.catalog.unguarded()] { return describeCatalog(*catalog); }},
      "knows the record stores and indexes; requests use them on their own threads");
  add({.path = "/node/storage/sessions",
       .type = "SessionPool",
       .parent = kParent,
       .describe = [pool = &server.catalog.unguarded().pool()] { return describeSessions(*pool); }},
      "lends the engine's sessions to requests");
}

void StorageRows::add(RowSpec spec, const char* meaning) {
  registry_.keep(spec);
  rows_.push_back(registry_.enter(spec));
  registry_.setPhase(*rows_.back(), "open", meaning);
}

StorageRows::~StorageRows() {
  for (const auto& row : rows_) {
    registry_.leave(row, "");
    registry_.unkeep(row->path());
  }
}

}  // namespace troupe::supervisors
