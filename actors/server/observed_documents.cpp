#include "actors/server/observed_documents.hpp"

#include <utility>

#include "storage/catalog/durable_catalog.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::server {

namespace {

std::string idBytesOf(bson::View document) { return std::string(document["_id"].raw()); }

std::string idBytesOf(std::string_view text) {
  return text.empty() ? std::string() : idBytesOf(bson::doc("_id", text).view());
}

}  // namespace

ObservedDocuments::ObservedDocuments(storage::Namespace ns, std::string_view only)
    : ns_(std::move(ns)), only_(idBytesOf(only)) {}

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
    if (std::string key = idBytesOf(document); counts(key))
      read->insert_or_assign(std::move(key), Known{bson::Document(document), {}});
    return true;
  }));
  // Nothing of it is later; what was written earlier is taken for as late as that.
  const bson::Timestamp asOf = stored_->lastApplied();
  for (auto& [key, known] : *read) known.since = asOf;
  const std::lock_guard lock(mutex_);
  // What was heard of is newer than what a reader sees.
  for (const auto& [key, at] : removed_) read->erase(key);
  for (const auto& [key, known] : *known_) read->insert_or_assign(key, known);
  if (version() != seen) return std::shared_ptr<const All>(std::move(read));  // they may have been removed at once
  known_ = std::move(read);
  isComplete_ = true;
  return std::shared_ptr<const All>(known_);
}

void ObservedDocuments::forgetAll() {
  const std::lock_guard lock(mutex_);
  known_ = std::make_shared<All>();
  removed_.clear();
  clearedAt_ = {};
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
  std::string key = idBytesOf(removed.document);
  if (counts(key)) unit.onCommit([this, key](std::optional<bson::Timestamp> at) { remove(key, at); });
  return Status::OK();
}

Status ObservedDocuments::onTruncate(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  unit.onCommit([this](std::optional<bson::Timestamp> at) { clear(at); });
  return Status::OK();
}

Status ObservedDocuments::onDrop(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  unit.onCommit([this](std::optional<bson::Timestamp> at) { clear(at); });
  return Status::OK();
}

/// Under the name there is nothing any more, or there are documents that nobody has told of.
Status ObservedDocuments::onRename(storage::RecoveryUnit& unit, const storage::RenameOperation&) {
  unit.onCommit([this](auto) { forgetAll(); });
  return Status::OK();
}

void ObservedDocuments::putOnCommit(storage::RecoveryUnit& unit, bson::View document) {
  if (!counts(idBytesOf(document))) return;
  unit.onCommit([this, copy = bson::Document(document)](std::optional<bson::Timestamp> at) { put(copy, at); });
}

/// Of changes that are committed side by side the last one stays, whichever is told first.
bool ObservedDocuments::isOvertaken(const std::string& key, std::optional<bson::Timestamp> at) const {
  if (!at) return false;
  const auto known = known_->find(key);
  const auto removed = removed_.find(key);
  return *at < clearedAt_ || (known != known_->end() && *at < known->second.since) ||
         (removed != removed_.end() && *at < removed->second);
}

void ObservedDocuments::put(bson::Document document, std::optional<bson::Timestamp> at) {
  const std::lock_guard lock(mutex_);
  const std::string key = idBytesOf(document);
  if (isOvertaken(key, at)) return;
  changing().insert_or_assign(key, Known{std::move(document), at.value_or(bson::Timestamp{})});
  removed_.erase(key);
}

void ObservedDocuments::remove(const std::string& key, std::optional<bson::Timestamp> at) {
  const std::lock_guard lock(mutex_);
  if (isOvertaken(key, at)) return;
  changing().erase(key);
  removed_.insert_or_assign(key, at.value_or(bson::Timestamp{}));
}

void ObservedDocuments::clear(std::optional<bson::Timestamp> at) {
  const std::lock_guard lock(mutex_);
  changing().clear();
  removed_.clear();
  clearedAt_ = at.value_or(bson::Timestamp{});
  isComplete_ = true;
}

ObservedDocuments::All& ObservedDocuments::changing() {
  known_ = std::make_shared<All>(*known_);
  version_.fetch_add(1, std::memory_order_acq_rel);
  return *known_;
}

}  // namespace troupe::server
