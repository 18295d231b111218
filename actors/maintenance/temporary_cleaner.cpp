#include "actors/maintenance/temporary_cleaner.hpp"

#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/maintenance/discard_temporary.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/storage/collection_writer.hpp"
#include "actors/storage/storage_waits.hpp"
#include "state_machines/replication/topology_messages.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe::maintenance {

Behaviour TemporaryCleaner::behaviour() {
  return {on<DropTemporaries>(
      [this](Received<DropTemporaries> wanted, Context context) { start(clean(wanted->term, std::move(context))); })};
}

void TemporaryCleaner::onStart() { setPhase("waiting", "for this member to become primary"); }

Task<void> TemporaryCleaner::clean(int64_t term, Context asker) {
  setPhase("dropping", "temporary collections of earlier terms");
  const auto isReplicated = [](const storage::Namespace& ns) { return ns.isReplicated(); };
  const auto found = temporaryCollections(server_->catalog.unguarded(), isReplicated);
  for (const storage::CollectionPtr& collection : found) {
    const Status outcome = co_await drop(collection, term);
    logDiscarded(*server_, collection->ns(), outcome);
    if (outcome.isOK()) ++dropped_;
    else lastError_ = collection->ns().toString() + ": " + outcome.toString();
  }
  setPhase("waiting", "for this member to become primary");
  asker.reply(local(replication::Done{}));
}

Task<Status> TemporaryCleaner::drop(storage::CollectionPtr collection, int64_t term) {
  const storage::Namespace ns = collection->ns();
  server::ServiceOperation operation(*server_, "TemporaryCleaner", ns, bson::doc("drop", ns.collection()));
  operation->announceWrites();
  operation->setWriteTerm(term);
  operation->setPriority(storage::AdmissionPriority::kImmediate);  // LCK-020: an election waits for it
  storage::HeldLock lock = collectionLock(*operation, ns, storage::LockMode::kX);
  TROUPE_CO_TRY(co_await acquireLock(server_->node, *operation, lock));
  CollectionWriter writer(server_->writes, *operation);
  auto remove = [&]() -> Status {
    return storage::dropCollection(server_->catalog.unguarded(), operation->recoveryUnit(), collection);
  };
  co_return co_await writer.commit(remove);
}

}  // namespace troupe::maintenance
