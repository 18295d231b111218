#include "supervisors/metrics/node_metrics.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "actors/commands/inspection.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/version.hpp"

namespace troupe::supervisors {

namespace {

/// Counters of all actors of one type.
struct TypeSums {
  int64_t mailbox = 0, oldestMs = 0, handled = 0, asks = 0;
};

void addSupervised(MetricSet& m, const ActorRow& row) {
  const MetricSet::Labels labels{{"path", row.path}};
  m.counter("troupe_actor_incarnations_total", "lives of a supervised actor since the node started",
            static_cast<double>(row.incarnation), labels);
  m.gauge("troupe_actor_restarts", "failures of a supervised actor within its supervisor's window",
          static_cast<double>(row.restarts), labels);
  m.gauge("troupe_actor_parked", "1 if a supervised actor is set aside until an operator resumes it",
          row.phase == "parked", labels);
  m.counter("troupe_actor_handled_total", "messages a supervised actor has handled", static_cast<double>(row.handled),
            labels);
  m.gauge("troupe_actor_mailbox_length", "messages waiting for a supervised actor",
          static_cast<double>(row.mailboxLength), labels);
  m.gauge("troupe_actor_busy_ratio", "share of its time a supervised actor spends in handlers", row.busyShare, labels);
}

void addOperations(MetricSet& m, const server::ServerContext& server) {
  const auto& c = server.counters;
  const auto operation = [&](const char* kind, const std::atomic<int64_t>& count) {
    m.counter("troupe_operations_total", "operations of clients", static_cast<double>(count.load()), {{"kind", kind}});
  };
  operation("insert", c.insert);
  operation("query", c.query);
  operation("update", c.update);
  operation("delete", c.remove);
  operation("getmore", c.getMore);
  operation("command", c.command);
  const auto documents = [&](const char* what, const std::atomic<int64_t>& count) {
    m.counter("troupe_documents_total", "documents that went through operations", static_cast<double>(count.load()),
              {{"what", what}});
  };
  documents("returned", c.documentsReturned);
  documents("inserted", c.documentsInserted);
  documents("updated", c.documentsUpdated);
  documents("deleted", c.documentsDeleted);
  documents("expired", c.ttlDeletedDocuments);
  m.counter("troupe_examined_total", "what queries looked at", static_cast<double>(c.keysExamined.load()),
            {{"what", "keys"}});
  m.counter("troupe_examined_total", "what queries looked at", static_cast<double>(c.documentsExamined.load()),
            {{"what", "documents"}});
  m.counter("troupe_scrub_cycles_total", "times that all tables were read back from the disk",
            static_cast<double>(c.scrubCycles.load()));
  m.counter("troupe_scrub_bytes_total", "bytes read back from the disk and compared with their checksums",
            static_cast<double>(c.scrubbedBytes.load()));
  m.gauge("troupe_scrub_damaged_tables", "tables in which the scrubber's last check found damage",
          static_cast<double>(c.scrubbedDamagedTables.load()));
  m.counter("troupe_checkpoints_failed_total", "checkpoints that failed, and were to be tried again",
            static_cast<double>(c.failedCheckpoints.load()));
  m.counter("troupe_command_errors_total", "requests answered with an error",
            static_cast<double>(c.userAsserts.load()));
  m.counter("troupe_write_conflicts_total", "writes tried again after a conflict",
            static_cast<double>(server.conflicts.writeConflicts.load()));
  m.counter("troupe_network_requests_total", "requests received", static_cast<double>(c.requests.load()));
  m.counter("troupe_network_bytes_total", "bytes of the wire protocol", static_cast<double>(c.bytesIn.load()),
            {{"direction", "in"}});
  m.counter("troupe_network_bytes_total", "bytes of the wire protocol", static_cast<double>(c.bytesOut.load()),
            {{"direction", "out"}});
}

/// Buckets from 64 microseconds to 17 seconds: what is faster or slower than that needs no finer view from outside.
void addLatencies(MetricSet& m, const server::OperationLatencies& latencies) {
  using Histogram = server::LatencyHistogram;
  constexpr size_t kFirst = 7, kLast = 25;
  std::vector<double> bounds;
  for (size_t i = kFirst; i <= kLast; ++i) bounds.push_back(static_cast<double>(Histogram::lowerBound(i)) / 1e6);
  const auto add = [&](const char* kind, const Histogram& histogram) {
    const auto read = histogram.read();
    std::vector<int64_t> counts(bounds.size() + 1);
    for (size_t i = 0; i < read.counts.size(); ++i) {
      counts[std::clamp(i + 1, kFirst, kLast + 1) - kFirst] +=
          read.counts[i];  // all of a bucket lie below the next one's bound
    }
    m.histogram("troupe_operation_seconds", "latency of clients' requests, without waits for news", bounds, counts,
                static_cast<double>(read.micros) / 1e6, {{"kind", kind}});
  };
  add("read", latencies.reads);
  add("write", latencies.writes);
  add("command", latencies.commands);
}

/// What limits of unknown peers have turned away.
void addRefusals(MetricSet& m, const server::ServerContext& server) {
  for (size_t i = 0; i < static_cast<size_t>(server::ConnectionRefusal::kCount); ++i) {
    const auto why = static_cast<server::ConnectionRefusal>(i);
    m.counter("troupe_connections_refused_total", "connections closed before they were served",
              static_cast<double>(server.gate.refusals(why)), {{"reason", std::string(server::refusalName(why))}});
  }
  m.gauge("troupe_incomplete_message_bytes", "memory of messages that have not arrived as a whole",
          static_cast<double>(server.messages.bytes()));
  m.counter("troupe_incomplete_messages_refused_total", "connections closed for lack of memory for their message",
            static_cast<double>(server.messages.refusals()));
  m.counter("troupe_sessions_displaced_total", "logical sessions forgotten in favour of newer ones",
            static_cast<double>(server.sessions.displaced()));
}

void addEngine(MetricSet& m, const storage::EngineStatistics& s) {
  m.gauge("troupe_engine_open_tables", "files of tables that are open", static_cast<double>(s.openTables));
  m.gauge("troupe_engine_open_tables_limit", "files of tables that may be open (0: no limit)",
          static_cast<double>(s.openTablesLimit));
  m.counter("troupe_engine_open_tables_refused_total", "times a table was not opened because of the limit",
            static_cast<double>(s.openTablesRefused));
  const auto cache = [&](const char* what, int64_t bytes) {
    m.gauge("troupe_engine_cache_bytes", "the storage engine's cache", static_cast<double>(bytes), {{"what", what}});
  };
  cache("in_use", s.cacheBytesInUse);
  cache("dirty", s.cacheBytesDirty);
  cache("limit", s.cacheBytesMax);
  m.counter("troupe_engine_log_bytes_total", "bytes written to the journal", static_cast<double>(s.logBytesWritten));
  m.counter("troupe_engine_log_syncs_total", "times the journal was made durable by the engine",
            static_cast<double>(s.logSyncs));
  m.counter("troupe_engine_checkpoints_total", "checkpoints taken", static_cast<double>(s.checkpoints));
  m.gauge("troupe_engine_last_checkpoint_seconds", "duration of the last checkpoint",
          static_cast<double>(s.lastCheckpointMillis) / 1000);
  const auto transactions = [&](const char* outcome, int64_t count) {
    m.counter("troupe_engine_transactions_total", "storage transactions", static_cast<double>(count),
              {{"outcome", outcome}});
  };
  transactions("begun", s.transactionsBegun);
  transactions("committed", s.transactionsCommitted);
  transactions("rolled_back", s.transactionsRolledBack);
}

void addJournal(MetricSet& m, const storage::DurabilityTracker& tracker) {
  const auto s = tracker.statistics();
  std::vector<double> bounds;
  for (const int64_t micros : storage::DurabilityTracker::kDurationBounds)
    bounds.push_back(static_cast<double>(micros) / 1e6);
  m.histogram("troupe_journal_flush_seconds", "duration of the journal's group flushes", bounds, s.durations,
              static_cast<double>(s.totalMicros) / 1e6);
  m.counter("troupe_journal_failed_flushes_total", "flushes that failed", static_cast<double>(s.failedFlushes));
  m.counter("troupe_journal_waiters_total", "writers that waited for a flush", static_cast<double>(s.waitersCompleted));
  m.counter("troupe_journal_commits_total", "commits made durable", static_cast<double>(s.commitsFlushed));
  m.gauge("troupe_journal_largest_group", "most writers completed by one flush", static_cast<double>(s.largestGroup));
}

void addDisk(MetricSet& m, const server::DiskGuard& disk) {
  if (const int64_t free = disk.freeBytes(); free >= 0)
    m.gauge("troupe_disk_free_bytes", "free space on the disk of the data directory", static_cast<double>(free));
  m.gauge("troupe_disk_reserve_bytes", "free space below which writes that add data are refused",
          static_cast<double>(disk.reserveBytes()));
  m.gauge("troupe_disk_refusing_writes", "1 while writes that add data are refused for want of space", disk.refusing());
  m.gauge("troupe_disk_stops_replication", "1 while this member takes no data from others for want of space",
          disk.stopsReplication());
  m.counter("troupe_disk_refusals_total", "times that writes came to be refused for want of space",
            static_cast<double>(disk.refusals()));
}

}  // namespace

void addActorMetrics(MetricSet& m, Node& node) {
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  std::map<std::string, TypeSums> types;
  const auto rows = node.registry().rows();
  for (const auto& row : rows) {
    ++counts[{row.type, row.phase}];
    TypeSums& sums = types[row.type];
    sums.mailbox += row.mailboxLength;
    sums.oldestMs = std::max(sums.oldestMs, row.mailboxOldestMs);
    sums.handled += row.handled;
    sums.asks += row.pendingAsks;
  }
  for (const auto& [key, count] : counts)
    m.gauge("troupe_actors", "actors by type and phase", static_cast<double>(count),
            {{"type", key.first}, {"phase", key.second}});
  for (const auto& [type, sums] : types) {
    const MetricSet::Labels labels{{"type", type}};
    m.gauge("troupe_mailbox_messages", "messages waiting in the mailboxes of a type", static_cast<double>(sums.mailbox),
            labels);
    m.gauge("troupe_mailbox_oldest_seconds", "age of the oldest waiting message of a type",
            static_cast<double>(sums.oldestMs) / 1000, labels);
    m.gauge("troupe_pending_asks", "asks of a type that wait for their answer", static_cast<double>(sums.asks), labels);
  }
  for (const auto& row : rows)
    if (row.restartLimit > 0) addSupervised(m, row);
  for (size_t i = 0; i < static_cast<size_t>(DeadLetter::kCount); ++i) {
    const auto reason = static_cast<DeadLetter>(i);
    m.counter("troupe_dead_letters_total", "messages that could not be delivered",
              static_cast<double>(node.postOffice().deadLetters(reason)), {{"reason", deadLetterName(reason)}});
  }
}

void addServerMetrics(MetricSet& m, server::ServerContext& server) {
  m.gauge("troupe_build_info", "1; the labels tell the version", 1,
          {{"version", std::string(server::kTroupeVersion)}, {"speaks_as", std::string(server::kServerVersion)}});
  const auto uptime = server.node.environment().now() - server.startedAt;
  m.gauge("troupe_uptime_seconds", "time since the node started", std::chrono::duration<double>(uptime).count());
  m.gauge("troupe_connections", "open connections of clients", static_cast<double>(server.clients.current()));
  m.gauge("troupe_connections_limit", "connections served at once", static_cast<double>(server.gate.limit()));
  addRefusals(m, server);
  m.counter("troupe_connections_created_total", "connections ever opened",
            static_cast<double>(server.clients.totalCreated()));
  addOperations(m, server);
  addLatencies(m, server.latencies);
  const auto cursors = server.cursors.statistics();
  m.gauge("troupe_cursors", "open cursors", static_cast<double>(cursors.open), {{"state", "open"}});
  m.gauge("troupe_cursors", "open cursors", static_cast<double>(cursors.pinned), {{"state", "pinned"}});
  m.gauge("troupe_cursors", "open cursors", static_cast<double>(cursors.noTimeout), {{"state", "no_timeout"}});
  m.counter("troupe_cursors_opened_total", "cursors ever opened", static_cast<double>(cursors.totalOpened));
  m.counter("troupe_cursors_timed_out_total", "cursors ended because nobody fetched from them",
            static_cast<double>(cursors.timedOut));
  m.gauge("troupe_sessions", "logical sessions seen lately", static_cast<double>(server.sessions.size()));
  const server::SessionJobs jobs = server.sessions.jobs();
  m.counter("troupe_session_refreshes_total", "times that sessions and config.system.sessions were brought together",
            static_cast<double>(jobs.refreshes));
  m.counter("troupe_session_refresh_failures_total", "of these, how many failed and left their work to the next",
            static_cast<double>(jobs.failedRefreshes));
  addEngine(m, server.engine.statistics());
  addJournal(m, server.durability);
  addDisk(m, server.disk);
}

void addProcessMetrics(MetricSet& m) {
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  double virtualPages = 0, residentPages = 0;
  std::ifstream("/proc/self/statm") >> virtualPages >> residentPages;
  m.gauge("process_resident_memory_bytes", "resident memory", residentPages * page);
  m.gauge("process_virtual_memory_bytes", "virtual memory", virtualPages * page);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  m.counter("process_cpu_seconds_total", "processor time, user and system",
            seconds(usage.ru_utime) + seconds(usage.ru_stime));
  std::error_code error;
  double open = 0;
  for (auto i = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && i != std::filesystem::directory_iterator(); i.increment(error))
    ++open;
  m.gauge("process_open_fds", "open files and sockets", open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
    m.gauge("process_max_fds", "most files and sockets it may open", static_cast<double>(limit.rlim_cur));
  double threads = 0;
  for (auto i = std::filesystem::directory_iterator("/proc/self/task", error);
       !error && i != std::filesystem::directory_iterator(); i.increment(error))
    ++threads;
  m.gauge("process_threads", "threads", threads);
}

}  // namespace troupe::supervisors
