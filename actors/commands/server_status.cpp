// serverStatus; what currentOp shows.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>

#include "actors/commands/families.hpp"
#include "actors/commands/inspection.hpp"
#include "actors/commands/lock_inspection.hpp"
#include "actors/commands/replication_status.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/default_concerns.hpp"
#include "actors/server/finished_operation.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/session_catalog.hpp"
#include "actors/server/shown_command.hpp"
#include "actors/server/version.hpp"
#include "messaging/bson/numeric.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr int64_t kMegabyte = 1024 * 1024;

/// Resident and virtual memory in pages, from /proc.
std::pair<int64_t, int64_t> memoryPages() {
  std::ifstream statm("/proc/self/statm");
  int64_t virtualPages = 0, resident = 0;
  statm >> virtualPages >> resident;
  return {resident, virtualPages};
}

void appendProcess(bson::Builder& b, ServerContext& server) {
  const auto uptime = server.node.environment().now() - server.startedAt;
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(uptime).count();
  b.append("host", server.identity.host)
      .append("version", kServerVersion)
      .append("troupeVersion", kTroupeVersion)
      .append("process", "trouped");
  b.append("pid", static_cast<int64_t>(getpid()))
      .append("uptime", static_cast<double>(millis / 1000))
      .append("uptimeMillis", static_cast<int64_t>(millis));
  b.append("localTime", bson::Date{wallMillis(server)});
  const auto [resident, virtualPages] = memoryPages();
  const int64_t page = sysconf(_SC_PAGESIZE);
  b.append("mem", bson::doc("bits", 64, "resident", static_cast<int32_t>(resident * page / kMegabyte), "virtual",
                            static_cast<int32_t>(virtualPages * page / kMegabyte), "supported", true));
}

int64_t microsOf(const timeval& time) { return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec; }

/// Section `extra_info`: what the operating system has spent on the process.
void appendExtraInfo(bson::Builder& b) {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return;
  b.openDocument("extra_info").append("note", "fields vary by platform");
  b.append("user_time_us", microsOf(usage.ru_utime)).append("system_time_us", microsOf(usage.ru_stime));
  for (const auto& [name, value] :
       {std::pair("maximum_resident_set_kb", usage.ru_maxrss), std::pair("input_blocks", usage.ru_inblock),
        std::pair("output_blocks", usage.ru_oublock), std::pair("page_reclaims", usage.ru_minflt),
        std::pair("page_faults", usage.ru_majflt), std::pair("voluntary_context_switches", usage.ru_nvcsw),
        std::pair("involuntary_context_switches", usage.ru_nivcsw)})
    b.append(name, int64_t{value});
  b.close();
}

/// Operations that have their ticket, or await it, those that write apart.
bson::Document readersAndWriters(int64_t readers, int64_t writers) {
  return bson::doc("total", bson::narrowestInteger(readers + writers), "readers", bson::narrowestInteger(readers),
                   "writers", bson::narrowestInteger(writers));
}

/// Section `globalLock`: how busy the node is.
void appendGlobalLock(bson::Builder& b, ServerContext& server) {
  const auto uptime = server.node.environment().now() - server.startedAt;
  const auto waiting = [](storage::TicketPool& pool) {
    int64_t all = 0;
    for (const auto priority : {storage::AdmissionPriority::kNormal, storage::AdmissionPriority::kLow})
      all += pool.statistics(priority).queueLength();
    return all;
  };
  storage::TicketPool &readers = server.admission.read(), &writers = server.admission.write();
  b.openDocument("globalLock")
      .append("totalTime", std::chrono::duration_cast<std::chrono::microseconds>(uptime).count())
      .append("currentQueue", readersAndWriters(waiting(readers), waiting(writers)))
      .append("activeClients", readersAndWriters(readers.out(), writers.out()))
      .close();
}

/// Section `refusals`: what limits of unknown peers have turned away, by reason.
void appendRefusals(bson::Builder& b, const ServerContext& server) {
  b.openDocument("refusals").openDocument("connections");
  for (size_t i = 0; i < static_cast<size_t>(ConnectionRefusal::kCount); ++i) {
    const auto why = static_cast<ConnectionRefusal>(i);
    b.append(refusalName(why), server.gate.refusals(why));
  }
  b.close();
  b.append("incompleteMessages", bson::doc("bytes", server.messages.bytes(), "bytesBeforeAuthentication",
                                           server.messages.unknownBytes(), "refused", server.messages.refusals()));
  b.append("sessionsDisplaced", server.sessions.displaced()).close();
}

void appendConnections(bson::Builder& b, ServerContext& server) {
  const int64_t current = server.clients.current();
  int32_t active = 0;
  server.clients.each([&](Client& client) { active += client.withOperation([](storage::OperationContext&) {}); });
  b.append("connections",
           bson::doc("current", static_cast<int32_t>(current), "available",
                     static_cast<int32_t>(std::max<int64_t>(0, server.gate.limit() - current)), "totalCreated",
                     server.clients.totalCreated(), "active", active, "rejected", server.gate.refusals()));
  appendRefusals(b, server);
  b.append("network", bson::doc("bytesIn", server.counters.bytesIn.load(), "bytesOut", server.counters.bytesOut.load(),
                                "numRequests", server.counters.requests.load()));
}

void appendCounters(bson::Builder& b, const ServerContext& server) {
  const ServerCounters& c = server.counters;
  b.append("asserts", bson::doc("regular", 0, "warning", 0, "msg", 0, "user", c.userAsserts.load(), "rollovers", 0));
  b.append("opcounters",
           bson::doc("insert", c.insert.load(), "query", c.query.load(), "update", c.update.load(), "delete",
                     c.remove.load(), "getmore", c.getMore.load(), "command", c.command.load()));
}

void appendLatencies(bson::Builder& b, const ServerContext& server, bool histograms) {
  b.openDocument("opLatencies");
  appendLatency(b, "reads", server.latencies.reads.read(), histograms);
  appendLatency(b, "writes", server.latencies.writes.read(), histograms);
  appendLatency(b, "commands", server.latencies.commands.read(), histograms);
  b.close();
}

void appendMetrics(bson::Builder& b, ServerContext& server) {
  const ServerCounters& c = server.counters;
  const auto cursors = server.cursors.statistics();
  b.openDocument("metrics");
  b.append("cursor",
           bson::doc("timedOut", cursors.timedOut, "totalOpened", cursors.totalOpened, "open",
                     bson::doc("noTimeout", cursors.noTimeout, "pinned", cursors.pinned, "total", cursors.open)));
  b.append("document", bson::doc("deleted", c.documentsDeleted.load(), "inserted", c.documentsInserted.load(),
                                 "returned", c.documentsReturned.load(), "updated", c.documentsUpdated.load()));
  b.append("queryExecutor", bson::doc("scanned", c.keysExamined.load(), "scannedObjects", c.documentsExamined.load()));
  if (const storage::MemoryGovernor* memory = server.operations.memory)
    b.append("operationMemory",
             bson::doc("reservedBytes", memory->reserved(), "peakBytes", memory->peak(), "limitBytes", memory->limit(),
                       "operationLimitBytes", memory->operationLimit(), "refusals", memory->refusals()));
  const auto& conflicts = server.conflicts;
  b.append("operation",
           bson::doc("writeConflicts", conflicts.writeConflicts.load(), "temporarilyUnavailableErrors",
                     conflicts.temporarilyUnavailableErrors.load(), "temporarilyUnavailableErrorsEscaped",
                     conflicts.temporarilyUnavailableErrorsEscaped.load(), "transactionTooLargeForCacheErrors",
                     conflicts.transactionTooLargeForCacheErrors.load()));
  b.append("scrub", bson::doc("bytes", c.scrubbedBytes.load(), "cycles", c.scrubCycles.load(), "damagedTables",
                              c.scrubbedDamagedTables.load(), "tables", c.scrubbedTables.load()));
  b.append("ttl", bson::doc("deletedDocuments", c.ttlDeletedDocuments.load(), "passes", c.ttlPasses.load(), "subPasses",
                            c.ttlSubPasses.load()));
  appendReplicationMetrics(b, server);
  b.close();
}

/// Of a member: what was sent again and not done again.
void appendTransactions(bson::Builder& b, const ServerContext& server) {
  if (!server.membership) return;
  const ServerCounters& c = server.counters;
  b.append("transactions", bson::doc("retriedCommandsCount", c.retriedCommands.load(), "retriedStatementsCount",
                                     c.retriedStatements.load()));
}

/// The default concerns as this member of a set reads them.
void appendDefaults(bson::Builder& b, const ServerContext& server) {
  if (!server.membership) return;
  const auto defaults = server.defaultConcerns->get();
  if (!defaults.isOK()) return;  // they cannot be read just now
  b.openDocument("defaultRWConcern");
  appendDefaultConcerns(b, **defaults, server);
  b.close();
}

void appendStorage(bson::Builder& b, ServerContext& server) {
  const auto s = server.engine.statistics();
  const auto flushes = server.durability.statistics();
  b.append("storageEngine", bson::doc("name", "wiredTiger", "supportsCommittedReads", true, "persistent", true,
                                      "dropPendingIdents", static_cast<int64_t>(server.catalog.pendingDrops())));
  b.openDocument("wiredTiger");
  b.append("cache", bson::doc("bytes currently in the cache", s.cacheBytesInUse, "tracked dirty bytes in the cache",
                              s.cacheBytesDirty, "maximum bytes configured", s.cacheBytesMax));
  b.append("log", bson::doc("log sync operations", s.logSyncs, "log bytes written", s.logBytesWritten));
  b.append("transaction",
           bson::doc("transaction begins", s.transactionsBegun, "transactions committed", s.transactionsCommitted,
                     "transactions rolled back", s.transactionsRolledBack, "transaction checkpoints", s.checkpoints,
                     "transaction checkpoint most recent time (msecs)", s.lastCheckpointMillis));
  b.append("connection", bson::doc("files currently open", s.openTables, "files allowed open", s.openTablesLimit,
                                   "times a table was not opened", s.openTablesRefused));
  b.append("concurrentTransactions", admissionStatistics(server.admission));
  b.close();
  appendGlobalLock(b, server);
  b.append("locks", lockStatistics(server.locks.statistics()));
  b.append("queues", bson::doc("execution", admissionStatistics(server.admission)));
  b.append("journal", bson::doc("flushes", flushes.flushes, "failedFlushes", flushes.failedFlushes, "waitersCompleted",
                                flushes.waitersCompleted, "largestGroup", flushes.largestGroup, "commitsFlushed",
                                flushes.commitsFlushed, "totalMicros", flushes.totalMicros));
  b.append("diskSpace", bson::doc("freeBytes", server.disk.freeBytes(), "reserveBytes", server.disk.reserveBytes(),
                                  "refusingWrites", server.disk.refusing(), "stopsReplication",
                                  server.disk.stopsReplication(), "timesFull", server.disk.refusals()));
}

/// Section `logicalSessionRecordCache`: the sessions of the node, and what their jobs did.
void appendSessions(bson::Builder& b, const ServerContext& server) {
  const SessionJobs jobs = server.sessions.jobs();
  b.openDocument("logicalSessionRecordCache")
      .append("activeSessionsCount", static_cast<int64_t>(server.sessions.size()))
      .append("sessionsCollectionJobCount", jobs.refreshes)
      .append("sessionsCollectionJobFailures", jobs.failedRefreshes)
      .append("lastSessionsCollectionJobDurationMillis", jobs.refreshMillis)
      .append("lastSessionsCollectionJobTimestamp", bson::Date{jobs.refreshedAt})
      .append("lastSessionsCollectionJobEntriesRefreshed", jobs.refreshed)
      .append("lastSessionsCollectionJobEntriesEnded", jobs.ended)
      .append("lastSessionsCollectionJobCursorsClosed", jobs.cursorsClosed)
      .append("transactionReaperJobCount", jobs.reaps)
      .append("transactionReaperJobFailures", jobs.failedReaps)
      .append("lastTransactionReaperJobDurationMillis", jobs.reapMillis)
      .append("lastTransactionReaperJobTimestamp", bson::Date{jobs.reapedAt})
      .append("lastTransactionReaperJobEntriesCleanedUp", jobs.reaped)
      .append("sessionCatalogSize",
              server.sessionCatalog ? static_cast<int64_t>(server.sessionCatalog->size()) : int64_t{0})
      .append("memoryBytes", static_cast<int64_t>(server.sessions.bytes()))
      .close();
}

/// CursorRegistry::inUse
using CursorsInUse = std::unordered_map<int64_t, bson::Document>;

void appendOperation(bson::Builder& b, ServerContext& server, const std::vector<storage::ResourceView>& resources,
                     const storage::OperationContext& operation, const CursorsInUse& cursors) {
  const auto running = server.node.environment().now() - operation.started();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(running).count();
  b.append("active", true)
      .append("opid", operation.id())
      .append("op", shownKind(operation.commandName))
      .append("ns", operation.shownNs());
  b.append("secs_running", static_cast<int64_t>(micros / 1'000'000))
      .append("microsecs_running", static_cast<int64_t>(micros));
  appendShownCommand(b, operation.command);
  if (const auto at = cursors.find(operation.id()); at != cursors.end()) b.append("cursor", at->second);
  if (operation.killed()) b.append("killPending", true);
  appendLocks(b, resources, operation);
  b.append("numYields", operation.metrics.yields.load(std::memory_order_relaxed));
  if (const auto plan = operation.metrics.planSummary.text(); !plan.empty()) b.append("planSummary", plan);
  if (const auto message = operation.metrics.progress.message.text(); !message.empty())
    b.append("msg", message)
        .append("progress", bson::doc("done", operation.metrics.progress.done.load(std::memory_order_relaxed), "total",
                                      operation.metrics.progress.total.load(std::memory_order_relaxed)));
}

Task<Status> serverStatusCommand(Request& request) {
  const auto latencies = request.arg("opLatencies");
  const bool histograms = latencies.is(bson::Type::kDocument) && latencies.asDocument()["histograms"].truthy();
  const bson::Document all = serverStatus(request.server(), histograms);
  for (const bson::Element& section : all.view()) {
    const auto wanted = request.body()[section.name()];
    if (!wanted.ok() || wanted.truthy()) request.reply().append(section);
  }
  // A section that is there on demand only. This server mirrors no reads to other members.
  if (request.flag("mirroredReads")) request.reply().append("mirroredReads", bson::doc("seen", 0, "sent", 0));
  co_return Status::OK();
}

constexpr Command kStatusCommands[] = {
    {.name = "serverStatus",
     .summary = "the state and figures of the server",
     .requirement = {Requirement::Target::kCluster, auth::Action::kServerStatus},
     .arguments = kNamedFreely,
     .run = serverStatusCommand},
};

}  // namespace

void appendLatency(bson::Builder& b, std::string_view kind, const LatencyHistogram::Snapshot& read, bool histogram) {
  b.openDocument(kind);
  if (histogram) {
    b.openArray("histogram");
    for (size_t i = 0; i < read.counts.size(); ++i) {
      if (read.counts[i] > 0) b.push(bson::doc("micros", LatencyHistogram::lowerBound(i), "count", read.counts[i]));
    }
    b.close();
  }
  b.append("latency", read.micros).append("ops", read.operations).close();
}

bson::Document serverStatus(ServerContext& server, bool histograms) {
  bson::Builder b;
  appendProcess(b, server);
  appendExtraInfo(b);
  appendConnections(b, server);
  appendCounters(b, server);
  appendLatencies(b, server, histograms);
  appendMetrics(b, server);
  appendReplication(b, server);
  appendDefaults(b, server);
  appendTransactions(b, server);
  appendStorage(b, server);
  appendSessions(b, server);
  return b.finish();
}

Status currentOperations(ServerContext& server, const OperationQuery& query, ListedRows& rows) {
  Status added;
  const auto resources = server.locks.inspect();
  const CursorsInUse cursors = server.cursors.inUse();
  server.clients.each([&](Client& client) {
    if (!added.isOK() || !(query.hasAllUsers() || client.owner() == query.owner)) return;
    bson::Builder b;
    b.append("type", "op").append("host", server.identity.host).append("desc", client.description());
    if (client.connectionId > 0)
      b.append("connectionId", static_cast<int32_t>(client.connectionId)).append("client", client.remote);
    const bson::Document metadata = client.metadata();
    if (const auto name = metadata.view().at("application.name"); name) b.append("appName", name);
    if (!metadata.empty()) b.append("clientMetadata", metadata);
    if (const auto users = client.userNames(); !users.empty()) b.append("effectiveUsers", users);
    const bool active = client.withOperation(
        [&](storage::OperationContext& operation) { appendOperation(b, server, resources, operation, cursors); });
    if (!active && !query.idleConnections) return;
    if (!active) b.append("active", false);
    added = rows.add(b.finish());
  });
  if (!query.idleCursors) return added;
  server.cursors.each([&](const ClientCursor& cursor) {
    const auto isOwn = [&](const UserKey& owner) {
      return std::ranges::find(query.owners, owner) != query.owners.end();
    };
    if (!added.isOK() || !(query.hasAllUsers() || std::ranges::any_of(cursor.owners, isOwn))) return;
    bson::Builder b;
    b.append("type", "idleCursor").append("host", server.identity.host).append("ns", cursor.ns);
    b.append("cursor", shownCursor(cursor));
    added = rows.add(b.finish());
  });
  return added;
}

int64_t actorRowBytes(const ServerContext& server) {
  constexpr int64_t kRowBytes = 512;
  return kRowBytes * static_cast<int64_t>(server.node.registry().size());
}

std::span<const Command> statusCommands() { return kStatusCommands; }

}  // namespace troupe::commands
