#pragma once
#include <string>
#include <vector>

#include "actors/commands/request.hpp"
#include "actors/commands/write_support.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::commands {

/// Runs a change of the catalog (a callable taking the recovery unit) in a unit of work, again after conflicts, and
/// waits for the request's write concern. The caller holds the locks the change needs, and `change` in its own frame.
template <class Change>
Task<Status> changeCatalog(Request& request, Change& change) {
  ServerContext& server = request.server();
  storage::RecoveryUnit unit(server.storageSessions);
  auto body = [&]() -> Status { return change(unit); };
  const Status status = co_await commitWithRetry(request, unit, body);
  if (!status.isOK()) co_return status;
  server.durability.take();
  const auto concern = request.writeConcern();
  co_return co_await satisfy(request, *concern);
}

/// Bytes of a collection's table and its indexes' tables.
int64_t collectionDiskBytes(ServerContext& server, const storage::Collection& collection);

/// Answers with a cursor over documents made at once: `batchSize` of them first, the rest by getMore.
Task<Status> replyWithRows(Request& request, std::string ns, std::vector<bson::Document> rows, bson::Element batchSize);

}  // namespace troupe::commands
