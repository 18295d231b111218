#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/kernel/task.hpp"
#include "actors/replication/oplog_buffer.hpp"
#include "actors/replication/remote_members.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"
#include "state_machines/replication/fetching.hpp"

/// The log of another member, as it is read there. Free functions of the fetcher; `members` outlives their tasks.
namespace troupe::replication {

/// `ts` and `t` of an entry of the log; nothing if it has none.
std::optional<OpTime> opTimeOf(bson::View entry);
/// Appends the entries to `into`, from place `from` on. False when they do not follow `last` and each other in time and
/// term, or one is no entry of a log; `into` is then undefined.
bool takeEntries(const std::vector<bson::View>& entries, size_t from, OpTime last, std::vector<FetchedEntry>& into);
/// Of their documents.
size_t bytesOf(const std::vector<FetchedEntry>& entries);

/// The find that gives all entries from `from` on, and then waits for more (REP-012, REP-015). Default: all entries.
bson::Document tailingFind(const OpTime& from);
/// The ends of a source's log, its rollback id, and whether it has `required` (REP-007 to REP-010). Errors: those of
/// RemoteMembers::run; OplogStartMissing (its log is empty, or cannot be read).
Task<StatusWith<Probed>> probeLog(RemoteMembers& members, NodeName source, std::optional<OpTime> required);
/// The oldest entry of a source's log, and the newest one. Errors as above.
Task<StatusWith<bson::Document>> oldestEntry(RemoteMembers& members, NodeName source);
Task<StatusWith<bson::Document>> newestEntry(RemoteMembers& members, NodeName source);
/// The entry of that time. Errors as above; OplogStartMissing (there is none, or it is of another term).
Task<StatusWith<bson::Document>> entryOf(RemoteMembers& members, NodeName source, OpTime at);
/// The oldest entry of a transaction that is open on the source; nothing if none is (ISY-007). Errors: those of
/// RemoteMembers::run.
Task<StatusWith<std::optional<OpTime>>> oldestOpenTransaction(RemoteMembers& members, NodeName source);
/// How often a member has rolled back, as it has written down in local.system.rollback.id; 0: never.
Task<StatusWith<int64_t>> rollbackIdOf(RemoteMembers& members, NodeName source);

}  // namespace troupe::replication
