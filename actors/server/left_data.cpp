#include "actors/server/left_data.hpp"

#include "storage/oplog/oplog_collection.hpp"

namespace troupe::server {

bool holdsDataOfSet(const ServerContext& server) {
  return !server.membership && server.catalog.exists(storage::oplogName());
}

}  // namespace troupe::server
