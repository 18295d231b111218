#pragma once
#include <memory>
#include <vector>

#include "actors/kernel/registry.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::supervisors {

/// Rows below /node/storage of the parts that are no actors, because requests use them on their own threads: the
/// engine, the catalog, and the pool of sessions. They have rows with state documents, but no mailboxes and nobody who
/// restarts them.
class StorageRows {
 public:
  /// `server` outlives it. The rows go with it.
  explicit StorageRows(server::ServerContext& server);
  ~StorageRows();
  StorageRows(const StorageRows&) = delete;
  StorageRows& operator=(const StorageRows&) = delete;

 private:
  void add(RowSpec spec, const char* meaning);

  Registry& registry_;
  std::vector<std::shared_ptr<LiveRow>> rows_;
};

}  // namespace troupe::supervisors
