#include "actors/maintenance/child_session_reaper.hpp"

#include <algorithm>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/server/session_catalog.hpp"
#include "actors/storage/collection_writer.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::maintenance {

namespace {

/// Sessions whose records go in one unit of work, which meets other writers with all of them.
constexpr size_t kGroup = 128;

/// Removes the documents of these sessions that are there; says how many.
StatusWith<int64_t> removeRecords(storage::RecoveryUnit& unit, const storage::Collection& records,
                                  std::span<const bson::Document> sessions) {
  int64_t removed = 0;
  for (const bson::Document& session : sessions) {
    const bson::Document key = bson::doc("_id", session);
    TROUPE_ASSIGN(const auto id, records.findById(unit, key["_id"]));
    if (!id) continue;
    bson::Document record;
    TROUPE_TRY(records.find(unit, *id, [&](bson::View found) { record = bson::Document(found); }).status());
    TROUPE_TRY(records.remove(unit, *id, record));
    ++removed;
  }
  return removed;
}

}  // namespace

Behaviour ChildSessionReaper::behaviour() {
  return {on<server::ReapChildren>([this](const server::ReapChildren&) { look(); })};
}

void ChildSessionReaper::onStart() { setPhase("waiting", "for enough child sessions that are over"); }

void ChildSessionReaper::onStopRequested() {
  stopping_ = true;
  if (round_) round_->kill(ErrorCode::kInterruptedAtShutdown);
  else stop();
}

void ChildSessionReaper::look() {
  server::DroppedChildren& dropped = server_->sessionCatalog->droppedChildren();
  const auto count = static_cast<int64_t>(dropped.size());
  const auto term = server_->operations.replicated->fence.term();
  if (stopping_ || round_ || count == 0 || count < server_->parameters.internalSessionsReapThreshold || !term) return;
  auto sessions = dropped.take(*term);
  if (!sessions.empty()) start(reap(std::move(sessions), *term));
}

Task<void> ChildSessionReaper::reap(Sessions sessions, int64_t term) {
  setPhase("removing", "records of child sessions that are over");
  {
    const storage::Namespace& ns = storage::transactionsNamespace();
    server::ServiceOperation operation(*server_, "ChildSessionReaper", ns,
                                       bson::doc("delete", ns.collection(), "$db", ns.db()));
    operation->announceWrites();
    operation->setWriteTerm(term);
    round_ = &*operation;
    const server::SessionCatalog::Reaping reaping(*server_->sessionCatalog, *operation);
    const Status done = co_await removeAll(&*operation, &sessions);
    round_ = nullptr;
    lastError_ = done.isOK() ? "" : done.toString();
    ++rounds_;
  }
  setPhase("waiting", "for enough child sessions that are over");
  if (stopping_) stop();
  else look();  // of those that came meanwhile
}

/// The images of a group go first: the periodic reaping finds by its record what a round that failed has left.
Task<Status> ChildSessionReaper::removeAll(storage::OperationContext* operation, const Sessions* sessions) {
  for (size_t from = 0; from < sessions->size(); from += kGroup) {
    const auto group = std::span(*sessions).subspan(from, std::min(kGroup, sessions->size() - from));
    for (const storage::Namespace* ns : {&storage::imagesNamespace(), &storage::transactionsNamespace()}) {
      TROUPE_CO_TRY(co_await removeGroup(operation, ns, group));
      co_await node().nextTurn();  // operators may ask for its state, and end it
    }
  }
  co_return Status::OK();
}

Task<Status> ChildSessionReaper::removeGroup(storage::OperationContext* operation, const storage::Namespace* ns,
                                             std::span<const bson::Document> sessions) {
  CollectionWriter writer(server_->writes, *operation);
  TROUPE_CO_ASSIGN(const auto target, co_await writer.open(*ns, IfMissing::kLeave));
  if (!target.collection) co_return Status::OK();
  operation->recoveryUnit().abandonSnapshot();
  int64_t removed = 0;
  auto remove = [&]() -> Status {
    TROUPE_ASSIGN(removed, removeRecords(operation->recoveryUnit(), *target.collection, sessions));
    return Status::OK();
  };
  const Status done = co_await writer.commit(remove, storage::UnitLogging::kGrouped);
  operation->recoveryUnit().releaseSession();
  if (done.isOK()) removed_ += removed;
  co_return done;
}

bson::Document ChildSessionReaper::describe() const {
  return bson::doc("gathered", static_cast<int64_t>(server_->sessionCatalog->droppedChildren().size()), "rounds",
                   rounds_, "removed", removed_, "lastError", lastError_);
}

}  // namespace troupe::maintenance
