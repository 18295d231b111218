#include "supervisors/assembly/data_role.hpp"

#include <exception>
#include <string>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/maintenance/temporary_cleaner.hpp"
#include "actors/replication/flow_control_state.hpp"
#include "actors/replication/oplog_applier.hpp"
#include "actors/replication/oplog_fetcher.hpp"
#include "actors/storage/collection_writer.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog_closed.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "supervisors/assembly/replication_wiring.hpp"

namespace troupe::supervisors {

using log::Component;

namespace {

/// Between two questions to an actor that is being restarted.
constexpr Duration kAskAgain = std::chrono::milliseconds(100);

/// Whether the node is one of those that follow the primary's log.
bool follows(const replication::ReplicaView& now) {
  const auto& config = now.config();
  const auto* const self = config ? config->member(now.topology.document.self) : nullptr;
  return self && !self->arbiterOnly && !leads(now.topology.memory.phase);
}

}  // namespace

DataRole::DataRole(server::ServerContext& server, std::shared_ptr<replication::StateTransition> transition,
                   std::function<void()> leavesLog, std::function<void(const Status&)> failed)
    : server_(server),
      transition_(std::move(transition)),
      leavesLog_(std::move(leavesLog)),
      failed_(std::move(failed)),
      writes_(std::make_shared<replication::PrimaryProgress>(
          *server.operations.replicated, *server.progress, [&server](const OpTime& newest) {
            server.progress->dates().note(newest.timestamp, {server::wallMillis(server)});
            server.flow->noteWritten(newest, server.node.environment().coarseNow());
          })) {}

void DataRole::catchUp(const replication::CatchUp& wanted) { want({Mode::kCatchingUp, wanted.term, wanted.target}); }

void DataRole::drain(const replication::Drain& wanted) {
  transition_->expect(wanted.term);
  want({Mode::kLeading, wanted.term, {}});
}

/// A leading node is told what to do by the topology.
void DataRole::placeChanged(const replication::ReplicaView& now) {
  if (leads(now.topology.memory.phase)) return;
  const Mode mode = follows(now) ? Mode::kFollowing : Mode::kIdle;
  {
    const std::lock_guard lock(mutex_);
    if (last_ == mode) {
      if (mode != Mode::kFollowing) return;
      server_.node.tell(server_.node.address(replication::kFetcherPath), local(replication::SetChanged{}));
      return;
    }
  }
  want({mode, 0, {}});
}

void DataRole::want(const Wanted& wanted) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = wanted;
    last_ = wanted.mode;
    if (std::exchange(working_, true)) return;
  }
  server_.node.post([self = shared_from_this()] { self->server_.node.start(work(self)); });
}

std::optional<DataRole::Wanted> DataRole::takeWanted() {
  const std::lock_guard lock(mutex_);
  working_ = wanted_.has_value();
  return std::exchange(wanted_, std::nullopt);
}

bool DataRole::isSuperseded() {
  const std::lock_guard lock(mutex_);
  return wanted_.has_value();
}

/// After a failure in the middle of a change nobody knows which writes the node may make, and nothing is carried out
/// any more: another member serves better than this one.
Task<void> DataRole::work(std::shared_ptr<DataRole> self) {
  std::string failure;
  try {
    co_await self->carryOutAll();
    co_return;
  } catch (const std::exception& thrown) {
    failure = thrown.what();
  }
  self->server_.log.error(Component::kReplication, 7004004, "topology", "The change of the node's role has failed",
                          bson::doc("reason", failure));
  if (self->failed_) self->failed_({ErrorCode::kInternalError, "the change of the node's role has failed: " + failure});
}

Task<void> DataRole::carryOutAll() {
  for (std::optional<Wanted> wanted = takeWanted(); wanted; wanted = takeWanted()) co_await carryOut(*wanted);
}

Task<void> DataRole::carryOut(Wanted wanted) {
  co_await leaveTerm();
  if (wanted.mode == Mode::kIdle) co_await ask(replication::kFetcherPath, local(replication::StopFetching{}));
  else if (wanted.mode == Mode::kFollowing) co_await ask(replication::kFetcherPath, local(replication::Follow{}));
  else if (wanted.mode == Mode::kCatchingUp)
    co_await ask(replication::kFetcherPath, local(replication::CatchUpTo{wanted.target, wanted.term}));
  else co_await lead(wanted.term);
}

Task<bool> DataRole::ask(const char* actor, Payload question) {
  while (!isSuperseded()) {
    const Answer answer = co_await server_.node.ask(server_.node.address(actor), question);
    if (answer.isOK()) co_return !isSuperseded();
    co_await server_.node.sleepFor(kAskAgain);
  }
  co_return false;
}

Task<void> DataRole::leaveTerm() {
  co_await transition_->untilOver();
  if (const int64_t term = std::exchange(term_, 0); term != 0) writes_->end(term);
}

/// Whatever was fetched is applied before the node writes by itself: nobody else has to know of it any more. The term
/// is noted in the log before clients may write: its entry lets the commit point move (REP-043). What earlier terms
/// left behind goes before that, too.
Task<void> DataRole::lead(int64_t term) {
  const bool stopped = co_await ask(replication::kFetcherPath, local(replication::StopFetching{}));
  if (!stopped) co_return;
  const bool drained = co_await ask(replication::kOplogApplierPath, local(replication::DrainBuffer{.toLead = true}));
  // An entry of a later term: another primary has been elected since, and the topology is about to hear of it.
  if (!drained || server_.progress->applied().term > term) co_return;
  beginTerm(term);
  if (!transition_->acceptExpected(term)) co_return;
  const bool noted = co_await untilNoted(term);
  if (!noted) co_return;
  const bool cleaned = co_await ask(maintenance::kTemporaryCleanerPath, local(maintenance::DropTemporaries{term}));
  if (cleaned) server_.node.tell(server_.node.address(replication::kTopologyPath), local(replication::DrainDone{term}));
}

void DataRole::beginTerm(int64_t term) {
  leavesLog_();
  server_.operations.replicated->slots.resetTo(server_.progress->applied().timestamp);
  term_ = term;
  writes_->begin(term);
}

Task<Status> DataRole::noteBeginning() {
  const bool complete = !holdsReplicatedData(server_.catalog.unguarded());
  storage::OperationContext operation(server_.operations);
  CollectionWriter writer(server_.writes, operation);
  co_return co_await writer.note(
      bson::doc("msg", complete ? kWholeLogBegins : "initiating set over data that are not in this log"));
}

/// A primary that cannot write, the cache being full, say, tries for as long as it leads: its followers see it and
/// elect nobody else.
Task<bool> DataRole::untilNoted(int64_t term) {
  while (!isSuperseded()) {
    const Status noted = co_await noteTerm(term);
    if (noted.isOK()) co_return !isSuperseded();
    co_await server_.node.sleepFor(kAskAgain);
  }
  co_return false;
}

Task<Status> DataRole::noteTerm(int64_t term) {
  Status outcome;
  try {
    outcome = co_await tryNote(term);
  } catch (const storage::CatalogClosed&) {
    outcome = storage::CatalogClosed::status();
  }
  if (!outcome.isOK())
    server_.log.info(Component::kReplication, 21331, "topology", "The new term was not noted in the log",
                     bson::doc("term", term, "reason", outcome.toString()));
  co_return outcome;
}

Task<Status> DataRole::tryNote(int64_t term) {
  if (server_.progress->applied() == OpTime{}) TROUPE_CO_TRY(co_await noteBeginning());
  TROUPE_CO_TRY(beginHistory(server_.engine, *server_.oplog, server_.storageSessions));
  storage::OperationContext operation(server_.operations);
  operation.setWriteTerm(term);
  operation.setPriority(storage::AdmissionPriority::kImmediate);  // LCK-020: an election waits for it
  CollectionWriter writer(server_.writes, operation);
  co_return co_await writer.note(bson::doc("msg", "new primary"));
}

}  // namespace troupe::supervisors
