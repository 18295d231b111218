#include "actors/server/observed_documents.hpp"

#include <utility>

#include "storage/catalog/durable_catalog.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::server {

namespace {

std::string idBytesOf(bson::View document) { return std::string(document["_id"].raw()); }

}  // namespace

void ObservedDocuments::attach(RightsCollection stored) {
  stored_.emplace(std::move(stored));
  forgetAll();  // a replay of the log may have been heard before
  (void)all();  // no request has to read them, nor to wait where that is not possible
}

StatusWith<std::shared_ptr<const ObservedDocuments::All>> ObservedDocuments::all() {
  uint64_t seen = 0;
  {
    const std::lock_guard lock(mutex_);
    if (isComplete_) return std::shared_ptr<const All>(known_);
    seen = version();
  }
  auto read = std::make_shared<All>();
  TROUPE_TRY(stored_->each([&](bson::View document) {
    read->insert_or_assign(idBytesOf(document), Known{bson::Document(document), {}});
    return true;
  }));
  const std::lock_guard lock(mutex_);
  for (const auto& [key, known] : *known_) read->insert_or_assign(key, known);  // newer than what a reader sees
  if (version() != seen) return std::shared_ptr<const All>(std::move(read));    // a removal may have been missed
  known_ = std::move(read);
  isComplete_ = true;
  return std::shared_ptr<const All>(known_);
}

void ObservedDocuments::forgetAll() {
  const std::lock_guard lock(mutex_);
  known_ = std::make_shared<All>();
  isComplete_ = false;
  version_.fetch_add(1, std::memory_order_acq_rel);
}

bool ObservedDocuments::observes(const storage::CatalogEntry& entry) const { return entry.ns == ns_; }

Status ObservedDocuments::onInsert(storage::RecoveryUnit& unit, const storage::Collection&,
                                   const storage::InsertOperation& inserted) {
  for (const bson::View document : inserted.documents) putOnCommit(unit, document);
  return Status::OK();
}

Status ObservedDocuments::onUpdate(storage::RecoveryUnit& unit, const storage::Collection&,
                                   const storage::UpdateOperation& updated) {
  putOnCommit(unit, updated.after);
  return Status::OK();
}

Status ObservedDocuments::onRemove(storage::RecoveryUnit& unit, const storage::Collection&,
                                   const storage::RemoveOperation& removed) {
  unit.onCommit([this, key = idBytesOf(removed.document)](auto) {
    const std::lock_guard lock(mutex_);
    changing().erase(key);
  });
  return Status::OK();
}

Status ObservedDocuments::onTruncate(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  unit.onCommit([this](auto) { clear(); });
  return Status::OK();
}

Status ObservedDocuments::onDrop(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  unit.onCommit([this](auto) { clear(); });
  return Status::OK();
}

/// Under the name there is nothing any more, or there are documents that nobody has told of.
Status ObservedDocuments::onRename(storage::RecoveryUnit& unit, const storage::RenameOperation&) {
  unit.onCommit([this](auto) { forgetAll(); });
  return Status::OK();
}

void ObservedDocuments::putOnCommit(storage::RecoveryUnit& unit, bson::View document) {
  unit.onCommit([this, copy = bson::Document(document)](std::optional<bson::Timestamp> at) { put(copy, at); });
}

/// Of two changes that are committed side by side the later one stays, whichever is told first.
void ObservedDocuments::put(bson::Document document, std::optional<bson::Timestamp> at) {
  const std::lock_guard lock(mutex_);
  const std::string key = idBytesOf(document);
  const bson::Timestamp since = at.value_or(bson::Timestamp{});
  const auto before = known_->find(key);
  if (at && before != known_->end() && before->second.since > since) return;
  changing().insert_or_assign(key, Known{std::move(document), since});
}

void ObservedDocuments::clear() {
  const std::lock_guard lock(mutex_);
  changing().clear();
  isComplete_ = true;
}

ObservedDocuments::All& ObservedDocuments::changing() {
  known_ = std::make_shared<All>(*known_);
  version_.fetch_add(1, std::memory_order_acq_rel);
  return *known_;
}

}  // namespace troupe::server
