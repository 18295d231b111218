#include "supervisors/tree/data_node.hpp"

#include "actors/maintenance/checkpointer.hpp"
#include "actors/maintenance/child_session_reaper.hpp"
#include "actors/maintenance/concurrency_tuner.hpp"
#include "actors/maintenance/disk_watch.hpp"
#include "actors/maintenance/ident_reaper.hpp"
#include "actors/maintenance/idle_sweeper.hpp"
#include "actors/maintenance/index_builds.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "actors/maintenance/key_manager.hpp"
#include "actors/maintenance/noop_writer.hpp"
#include "actors/maintenance/operation_drain.hpp"
#include "actors/maintenance/oplog_trimmer.hpp"
#include "actors/maintenance/profile_keeper.hpp"
#include "actors/maintenance/scrubber.hpp"
#include "actors/maintenance/session_reaper.hpp"
#include "actors/maintenance/session_refresher.hpp"
#include "actors/maintenance/temporary_cleaner.hpp"
#include "actors/maintenance/transition_keeper.hpp"
#include "actors/maintenance/ttl_monitor.hpp"
#include "actors/replication/history_keeper.hpp"
#include "actors/transport/command_service.hpp"
#include "actors/transport/link_manager.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "supervisors/admin/admin_endpoint.hpp"
#include "supervisors/tree/service.hpp"

namespace troupe::supervisors {

using namespace maintenance;

std::string servicePath(std::string_view name) { return std::string(kServicesPath) + "/" + std::string(name); }
std::string blockingWorkerPath(int worker) { return "/node/workers/worker" + std::to_string(worker); }

namespace {

/// From the interrupt of the operations that a shutdown finds to the end of its patience with them.
constexpr auto kDrainGrace = std::chrono::seconds(5);

Tree workers(int count, const std::shared_ptr<JobQueue>& jobs) {
  Tree tree = oneForOne("workers");
  for (int i = 0; i < count; ++i)
    tree.children.push_back(permanent<BlockingWorker>("worker" + std::to_string(i), jobs).onOwnThread());
  return tree;
}

/// What the topology asks for comes before it.
Tree replication(const MemberParts& parts, server::ServerContext* server) {
  return oneForOne("replication", permanent<replication::OplogApplier>("applier", parts.applier),
                   permanent<replication::OplogFetcher>("fetcher", parts.fetcher),
                   permanent<replication::RollbackActor>("rollback", parts.rollback).onOwnThread(),
                   permanent<replication::InitialSyncer>("initial-sync", parts.initialSync),
                   permanent<TemporaryCleaner>("temporary-cleaner", server),
                   permanent<replication::TopologyActor>("topology", parts.topology),
                   permanent<replication::ProgressReporter>("progress", parts.progress),
                   permanent<replication::HistoryKeeper>("history", parts.history),
                   permanent<replication::FlowControl>("flow-control", parts.flow),
                   permanent<NoopWriter>("noop-writer", server), permanent<KeyManager>("key-manager", server),
                   permanent<ChildSessionReaper>("child-session-reaper", server));
}

/// An admin endpoint that cannot open its port ends the start: the operator hears of the wrong port at once. Later
/// clients come first: it is set aside, and does not take the listener with it.
Tree front(const TreeParts& parts) {
  Tree tree =
      oneForOne("front", permanent<transport::Listener>("listener", parts.listener, parts.network, parts.server),
                permanent<transport::CommandService>("commands", parts.server));
  if (parts.admin)
    tree.children.push_back(
        permanent<AdminEndpoint>("admin", *parts.admin, parts.server, parts.links).park().failFast());
  return tree;
}

}  // namespace

Tree dataNodeTree(const TreeParts& parts) {
  server::ServerContext* s = parts.server;
  storage::Engine* engine = &s->engine;
  storage::Catalog* catalog = &s->catalog.unguarded();
  storage::BackgroundGate* gate = s->operations.replicated ? &s->operations.replicated->background : nullptr;
  Tree storage = restForOne(
      "storage",
      permanent<JournalFlusher>("journal-flusher", engine, &s->durability, parts.flushKind,
                                &std::as_const(s->parameters.journalCommitIntervalMillis), parts.flushPace,
                                JournalFlusher::MemberLog{s->operations.replicated, parts.endOfLog, s->progress})
          .onOwnThread(),
      permanent<Checkpointer>("checkpointer", engine, catalog, &std::as_const(s->durability),
                              &std::as_const(s->parameters.syncPeriodSeconds), &s->log, &s->counters.failedCheckpoints,
                              gate)
          .onOwnThread(),
      permanent<IdentReaper>("ident-reaper", catalog, &s->log, s->node.address(kCheckpointerPath), gate).onOwnThread(),
      permanent<DiskWatch>("disk-watch", &s->disk, s->node.address(kCheckpointerPath)));
  // Before the machines of replication, so that it hears of their first steps.
  storage.children.push_back(permanent<TransitionKeeper>("transition-keeper", s).onOwnThread());
  if (parts.oplog) {
    OplogTrimmer::Needed needed;
    if (parts.endOfLog)
      needed = [engine, prepared = &s->storageSessions.preparedTimes()] {
        return std::optional(prepared->neededFrom(engine->lastCheckpointTimestamp()));
      };
    storage.children.push_back(
        permanent<OplogTrimmer>("oplog-trimmer", parts.oplog, s->operations, std::move(needed)).onOwnThread());
  }
  Tree tree = oneForOne("node", std::move(storage), workers(parts.blockingWorkers, parts.jobs),
                        permanent<OperationDrain>("operation-drain", s).withGrace(kDrainGrace));
  if (parts.links) tree.children.push_back(permanent<link::LinkManager>("links", parts.links));
  if (parts.member) tree.children.push_back(replication(*parts.member, s));
  Tree services = oneForOne(
      "services", permanent<IdleSweeper>("idle-sweeper", s), permanent<ConcurrencyTuner>("concurrency-tuner", s),
      permanent<IndexBuilds>("index-builds", s).withGrace(kDrainGrace),
      permanent<TtlMonitor>("ttl-monitor", s).onOwnThread(), permanent<Scrubber>("scrubber", s).onOwnThread(),
      permanent<ProfileKeeper>("profile-keeper", s).onOwnThread(),
      permanent<SessionRefresher>("session-refresher", s, parts.nodes).withGrace(kDrainGrace),
      permanent<SessionReaper>("session-reaper", s, parts.nodes).withGrace(kDrainGrace));
  services.children.insert(services.children.end(), parts.services.begin(), parts.services.end());
  tree.children.push_back(std::move(services));
  tree.children.push_back(front(parts));
  return tree;
}

}  // namespace troupe::supervisors
