#pragma once
#include <string_view>

#include "actors/server/request.hpp"

namespace troupe::server {

struct ServerContext;

/// Whether this node may run the request in its present role in a replica set: writes need the primary
/// (NotWritablePrimary), reads the primary or a secondary that the client wants to read from (NotPrimaryNoSecondaryOk,
/// NotPrimaryOrSecondary). The database `local` belongs to the node alone and is always served. On a standalone node:
/// OK.
Status checkRole(const Request& request);
/// checkRole for what a command reads beside its own database: of what is replicated, whichever database it names.
Status checkRoleForReading(const Request& request, const storage::Namespace& ns);
/// The same for a stream that works for several requests, one after the other. `fromSecondaries`: of the present one.
Status checkRoleForReading(const ServerContext& server, bool fromSecondaries);
/// Whether the client wants to read from secondaries, too.
bool readsFromSecondaries(const Request& request);
/// The request goes on with a cursor: drivers say the preference once, when they open it.
void readFromCursor(Request& request, bool fromSecondaries);
/// checkRole for the writes of a command to a database that it need not have named: $out, $merge, a repairing validate,
/// changes of users.
Status checkRoleForWriting(const Request& request, std::string_view db);

/// Appends `topologyVersion` to the reply of a failure that sends drivers to look for another primary. A driver
/// compares it with the one of the last hello, and ignores a failure that is not newer. A failure of a change that is
/// not published yet goes without: it would pass for an old one.
void appendTopologyVersion(Request& request, ErrorCode failure);

/// Whether services of this node may write to the namespace in its present role.
bool mayWrite(const ServerContext& server, const storage::Namespace& ns);

/// How many operations were ended, and how many went on.
struct Interruption {
  int64_t killed = 0, left = 0;
};
/// Ends all operations that write (OperationContext::announceWrites): this node is no longer the primary they began on
/// (ELE-028).
Interruption interruptWrites(const ServerContext& server);

}  // namespace troupe::server
