#pragma once
#include <optional>
#include <vector>

#include "actors/commands/listed_rows.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "storage/catalog/collection.hpp"

namespace troupe::commands {
using namespace server;

/// Selection of currentOp and $currentOp among running operations, idle connections, cursors and sessions.
struct OperationQuery {
  /// Those of one client's users alone: as Client::owner and Request::users give them. Nothing: everybody's.
  std::string owner = {};
  std::vector<UserKey> owners = {};
  bool idleConnections = false;
  bool idleCursors = false;
  bool localOps = true;

  bool hasAllUsers() const { return owners.empty(); }
  /// From now on only those of the request's own users; of all where nobody logs in.
  void narrowTo(const Request& request) {
    owner = request.client().owner();
    owners = request.users();
  }
};
/// One row for each, added while they are made: there may be as many as connections and cursors. Errors:
/// ExceededMemoryLimit.
Status currentOperations(ServerContext& server, const OperationQuery& query, ListedRows& rows);

/// What the rows of all actors take, about, to be reserved before they are made.
int64_t actorRowBytes(const ServerContext& server);

/// The storage figures of one collection, as collStats and $collStats {storageStats: {}} show them; sizes divided by
/// `scale`.
bson::Document collectionStatistics(ServerContext& server, const storage::Collection& collection, int64_t scale);
/// One row for each index: {name, key, host, accesses: {ops, since}, spec}.
std::vector<bson::Document> indexStatistics(ServerContext& server, const storage::Collection& collection);
/// The row of a collection or view in listCollections.
bson::Document collectionRow(const storage::Collection& collection, bool nameOnly);
/// The row of a collection or view in $listCatalog.
bson::Document catalogRow(const storage::Collection& collection);
/// Appends {latency: microseconds together, ops, histogram?} as `kind`; the histogram leaves out what never happened.
void appendLatency(bson::Builder& b, std::string_view kind, const LatencyHistogram::Snapshot& read, bool histogram);
/// The serverStatus document without its `ok`; with the histograms of latencies where wanted.
bson::Document serverStatus(ServerContext& server, bool histograms = false);

}  // namespace troupe::commands
