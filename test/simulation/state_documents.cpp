#include "test/simulation/state_documents.hpp"

#include <fmt/format.h>

#include <utility>

#include "storage/catalog/durable_catalog.hpp"
#include "storage/oplog/write_slots.hpp"

namespace troupe::sim {

namespace {

const storage::Namespace kDocuments(StateDocuments::kDatabase, StateDocuments::kCollection);

/// A node that dies takes this with it: its writes are not acknowledged then.
Task<void> putOne(std::shared_ptr<machines::CollectionStore> store, bson::Document document,
                  StateDocuments::Durability wanted, DocumentLedger* ledger, std::shared_ptr<Tally> tally) {
  ++tally->asked;
  const int64_t value = document["n"].toInt64();
  const bool isMajority = wanted == StateDocuments::Durability::kMajority;
  const auto durability = isMajority ? machines::Durability::kMajority : machines::Durability::kJournaled;
  const Status status = co_await store->put(std::move(document), durability);
  if (status.isOK() && wanted != StateDocuments::Durability::kJournaled) ledger->acknowledged(value);
  if (status.isOK()) ++tally->done;
  else ++tally->refused[errorName(status.code())];
}

}  // namespace

void StateDocuments::started(NodeLife& life) {
  life_ = &life;
  store_ = std::make_shared<machines::CollectionStore>(life.storage(), kDocuments);
}

void StateDocuments::put(int key, Durability durability, const std::shared_ptr<Tally>& tally) {
  const auto view = life_->assembly().membership()->view();
  if (view->isWritable() && view->topology.memory.term != term_) store_->serveIn(term_ = view->topology.memory.term);
  if (view->isWritable() && durability != Durability::kJournaled) ledger_.begun();
  const bson::Document document = bson::doc("_id", key, "n", ledger_.newValue(), "term", term_);
  life_->node().start(putOne(store_, document, durability, &ledger_, tally));
}

bool StateDocuments::observes(const storage::CatalogEntry& entry) const { return entry.ns == kDocuments; }

Status StateDocuments::onInsert(storage::RecoveryUnit& unit, const storage::Collection&,
                                const storage::InsertOperation& inserted) {
  return checkOnCommit(unit, inserted.documents[0], inserted.slots[0]);
}

Status StateDocuments::onUpdate(storage::RecoveryUnit& unit, const storage::Collection&,
                                const storage::UpdateOperation& updated) {
  return checkOnCommit(unit, updated.after, updated.slot);
}

/// A node has one thread here: between the last look at its role and this nothing else has run.
Status StateDocuments::checkOnCommit(storage::RecoveryUnit& unit, bson::View document, OpTime slot) {
  const int64_t key = document["_id"].toInt64(), value = document["n"].toInt64();
  const bool isApplied = unit.operation() && unit.operation()->writeMode() == storage::WriteMode::kApplied;
  unit.onCommit([this, slot, key, value, isApplied, wanted = document["term"].toInt64()](auto) {
    if (isApplied) return;  // the term is that of another node
    const auto view = life_->assembly().membership()->view();
    const int64_t now = view->topology.memory.term;
    if (std::exchange(logTerm_, now) != now) log_ = std::make_shared<Log>();
    (*log_)[key].push_back(value);
    ledger_.committed(key, value, slot);
    if (!view->isWritable() || now != slot.term || (wanted != 0 && wanted != now))
      broken_(fmt::format("{}: a document of term {} was committed at a time of term {} on {}, which {} in term {}",
                          kInvariant, wanted, slot.term, life_->node().name(),
                          view->isWritable() ? "takes writes" : "takes none", now));
  });
  return Status::OK();
}

}  // namespace troupe::sim
