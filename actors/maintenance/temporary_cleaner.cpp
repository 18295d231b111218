#include "actors/maintenance/temporary_cleaner.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/maintenance/discard_temporary.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/storage/collection_writer.hpp"
#include "actors/storage/storage_waits.hpp"
#include "state_machines/replication/topology_messages.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe::maintenance {

namespace {
constexpr Duration kTryAgainAfter = std::chrono::seconds(1);
bool isReplicated(const storage::Namespace& ns) { return ns.isReplicated(); }
}  // namespace

Behaviour TemporaryCleaner::behaviour() {
  return {on<DropTemporaries>([this](Received<DropTemporaries> wanted, Context context) {
            start(clean(wanted->term, std::move(context)));
          }),
          on<LeftTemporary>([this](const LeftTemporary& left) {
            left_.insert(left.collection);
            tryAgainLater();
          })};
}

void TemporaryCleaner::onStart() { setPhase("waiting", "for this member to become primary"); }

Task<void> TemporaryCleaner::clean(int64_t term, Context asker) {
  setPhase("dropping", "temporary collections of earlier terms");
  const auto found = temporaryCollections(server_->catalog.unguarded(), isReplicated);
  left_.clear();
  for (const storage::CollectionPtr& collection : found) {
    const bool dropped = co_await discard(collection, term, false);
    if (!dropped) left_.insert(collection->uuid());
  }
  if (!left_.empty()) tryAgainLater();
  setPhase("waiting", "for this member to become primary");
  asker.reply(local(replication::Done{}));
}

Task<bool> TemporaryCleaner::discard(const storage::CollectionPtr& collection, int64_t term, bool again) {
  const Status outcome = co_await drop(collection, term);
  if (outcome.isOK() || !again) logDiscarded(*server_, collection->ns(), outcome);
  if (outcome.isOK()) ++dropped_;
  else lastError_ = collection->ns().toString() + ": " + outcome.toString();
  co_return outcome.isOK();
}

void TemporaryCleaner::tryAgainLater() {
  if (std::exchange(triesAgain_, true)) return;
  after(kTryAgainAfter, [this] {
    triesAgain_ = false;
    start(cleanLeft());
  });
}

/// Of a member that does not lead any more the next primary's round drops them.
Task<void> TemporaryCleaner::cleanLeft() {
  const auto view = server_->membership->view();
  if (view->state() != replication::MemberState::kPrimary) {
    left_.clear();
    co_return;
  }
  const std::set<bson::Uuid> wanted = view->isWritable() ? std::exchange(left_, {}) : std::set<bson::Uuid>();
  const auto found = temporaryCollections(server_->catalog.unguarded(), isReplicated);
  for (const storage::CollectionPtr& collection : found) {
    if (!wanted.contains(collection->uuid())) continue;
    const bool dropped = co_await discard(collection, view->topology.memory.term, true);
    if (!dropped) left_.insert(collection->uuid());
  }
  if (!left_.empty()) tryAgainLater();
}

Task<Status> TemporaryCleaner::drop(storage::CollectionPtr collection, int64_t term) {
  const storage::Namespace ns = collection->ns();
  server::ServiceOperation operation(*server_, "TemporaryCleaner", ns, bson::doc("drop", ns.collection()));
  operation->announceWrites();
  operation->setWriteTerm(term);
  operation->setPriority(storage::AdmissionPriority::kImmediate);  // LCK-020: an election waits for it
  storage::HeldLock lock = collectionLock(*operation, ns, storage::LockMode::kX);
  TROUPE_CO_TRY(co_await acquireLock(server_->node, *operation, lock));
  const storage::CollectionPtr now = server_->catalog.unguarded().find(ns);  // it may have changed, or gone
  if (!now || now->uuid() != collection->uuid() || !now->options().temp) co_return Status::OK();
  CollectionWriter writer(server_->writes, *operation);
  auto remove = [&]() -> Status {
    return storage::dropCollection(server_->catalog.unguarded(), operation->recoveryUnit(), now);
  };
  co_return co_await writer.commit(remove);
}

}  // namespace troupe::maintenance
