#pragma once
#include <functional>
#include <string>
#include <vector>

#include "actors/commands/request.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::commands {

/// Runs a change of the catalog in a unit of work, again after conflicts, and waits for the request's write concern.
/// The caller holds the locks the change needs.
Task<Status> changeCatalog(Request& request, std::function<Status(storage::RecoveryUnit&)> change);

/// Bytes of a collection's table and its indexes' tables.
int64_t collectionDiskBytes(ServerContext& server, const storage::Collection& collection);

/// Answers with a cursor over documents made at once: `batchSize` of them first, the rest by getMore.
Task<Status> replyWithRows(Request& request, std::string ns, std::vector<bson::Document> rows, bson::Element batchSize);

}  // namespace troupe::commands
