#pragma once
#include <optional>
#include <string>
#include <vector>

#include "actors/commands/listed_rows.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/server/request.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::commands {
using namespace server;

/// A collection whose shape is about to change, locked exclusively: no other operation writes to it or changes it.
struct ChangeTarget {
  AuthorizedNamespace ns;
  storage::HeldLock lock;  ///< X
  storage::CollectionPtr collection;
};
/// The errors of openForChange, as each command words them; the namespace follows. Empty: what is missing is left to
/// the caller (a null collection), and so are views.
struct ChangeErrors {
  std::string_view missing;  ///< NamespaceNotFound
  std::string_view view;     ///< CommandNotSupportedOnView
};
/// Takes the collection that the command names for a change of its shape.
Task<StatusWith<ChangeTarget>> openForChange(Request& request, ChangeErrors errors);

/// Runs a change of the catalog (a callable taking the recovery unit) in a unit of work, again after conflicts. The
/// caller holds the locks the change needs, and `change` in its own frame.
template <class Change>
Task<Status> changeCatalog(Request& request, Change& change) {
  storage::RecoveryUnit& unit = request.operation().recoveryUnit();
  auto body = [&]() -> Status { return change(unit); };
  co_return co_await writerOf(request).commit(body);
}

/// The command that has made a temporary collection cannot remove it: logs that, and leaves it to the cleaner of a
/// member (temporary_cleaner.hpp), or to the next start of a node that stands alone.
void leaveTemporary(ServerContext& server, const storage::Collection& temporary, std::string_view why);

/// Ends builds of a collection's indexes with `why`, and waits until they have ended: before what they build on goes.
/// No builds named: all of the collection. The request holds no locks. Errors: the request has to end.
Task<Status> abortIndexBuilds(Request& request, bson::Uuid collection, std::vector<bson::Uuid> builds, Status why);

/// A lifetime of documents reaches back to 1970 at most. Errors: InvalidOptions.
Status checkLifetime(const Request& request, std::optional<int64_t> expireAfterSeconds);

/// Bytes of a collection's table and its indexes' tables.
int64_t collectionDiskBytes(ServerContext& server, const storage::Collection& collection);

/// The batch size that the argument `cursor` of a list names; absent: none. Errors: those of checkArguments.
StatusWith<bson::Element> batchSizeOf(const Request& request);

/// Errors: 51024, a batch size below 0.
Status checkBatchSizeOf(const bson::Element& batchSize);
/// Answers with a cursor over documents made at once: `batchSize` of them first, the rest by getMore. `rows` are
/// charged to the request's operation, which hands its budget on to the cursor. Errors: those of checkBatchSizeOf,
/// which a command that writes asks before.
Task<Status> replyWithRows(Request& request, std::string ns, ListedRows rows, bson::Element batchSize);

}  // namespace troupe::commands
