#include "actors/replication/temporary_cleaner.hpp"

#include <utility>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/storage/collection_writer.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/log/log.hpp"
#include "state_machines/replication/topology_messages.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe::replication {

namespace {

std::vector<storage::CollectionPtr> replicatedTemporaries(const storage::Catalog& catalog) {
  std::vector<storage::CollectionPtr> found;
  const auto now = catalog.snapshot();
  for (const std::string& db : now->databases())
    for (const storage::CollectionPtr& collection : now->collections(db))
      if (collection->options().temp && collection->ns().isReplicated()) found.push_back(collection);
  return found;
}

}  // namespace

Behaviour TemporaryCleaner::behaviour() {
  return {on<DropTemporaries>([this](Received<DropTemporaries> wanted, Context context) {
    start(clean(wanted->term, std::move(context)));
  })};
}

void TemporaryCleaner::onStart() { setPhase("waiting", "for this member to become primary"); }

Task<void> TemporaryCleaner::clean(int64_t term, Context asker) {
  setPhase("dropping", "temporary collections of earlier terms");
  for (const storage::CollectionPtr& collection : replicatedTemporaries(server_->catalog.unguarded())) {
    const Status outcome = co_await drop(collection, term);
    const std::string ns = collection->ns().toString();
    if (outcome.isOK()) {
      ++dropped_;
      server_->log.info(log::Component::kReplication, 21340, "temporary-cleaner", "Removed a temporary collection",
                        bson::doc("ns", ns));
    } else {
      lastError_ = ns + ": " + outcome.toString();
      server_->log.warning(log::Component::kReplication, 21341, "temporary-cleaner",
                           "A temporary collection was not removed", bson::doc("ns", ns, "error", outcome.reason()));
    }
  }
  setPhase("waiting", "for this member to become primary");
  asker.reply(local(Done{}));
}

Task<Status> TemporaryCleaner::drop(storage::CollectionPtr collection, int64_t term) {
  const storage::Namespace ns = collection->ns();
  server::ServiceOperation operation(*server_, "TemporaryCleaner", ns, bson::doc("drop", ns.collection()));
  operation->announceWrites();
  operation->setWriteTerm(term);
  storage::HeldLock lock = collectionLock(*operation, ns, storage::LockMode::kX);
  TROUPE_CO_TRY(co_await acquireLock(server_->node, *operation, lock));
  CollectionWriter writer(server_->writes, *operation);
  auto remove = [&]() -> Status {
    return storage::dropCollection(server_->catalog.unguarded(), operation->recoveryUnit(), collection);
  };
  co_return co_await writer.commit(remove);
}

}  // namespace troupe::replication
