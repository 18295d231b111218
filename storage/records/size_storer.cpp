#include "storage/records/size_storer.hpp"

#include "messaging/bson/document.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/engine/essential_table.hpp"

namespace troupe::storage {

StatusWith<std::unique_ptr<SizeStorer>> SizeStorer::open(Engine& engine) {
  TROUPE_ASSIGN(Table table, openEssentialTable(engine, kIdent));
  std::unique_ptr<SizeStorer> storer(new SizeStorer(engine, std::move(table)));
  TROUPE_TRY(storer->load());
  storer->wereRight_ = storer->sizes_.erase(std::string(kRightMark)) > 0;
  if (storer->wereRight_) TROUPE_TRY(storer->setMark(false));
  return storer;
}

Status SizeStorer::setMark(bool right) {
  TROUPE_ASSIGN(auto session, engine_.openSession());
  TROUPE_TRY(session->begin());
  {
    TROUPE_ASSIGN(auto cursor, session->cursor(table_));
    TROUPE_TRY(right ? cursor->put(kRightMark, bson::Document().bytes()) : cursor->remove(kRightMark));
  }
  return session->commit();
}

Status SizeStorer::flushAtEnd() {
  TROUPE_TRY(flush());
  return setMark(true);
}

Status SizeStorer::load() {
  TROUPE_ASSIGN(auto session, engine_.openSession());
  TROUPE_TRY(session->begin());
  TROUPE_ASSIGN(auto cursor, session->cursor(table_));
  for (;;) {
    TROUPE_ASSIGN(const bool found, cursor->next());
    if (!found) return Status::OK();
    if (!bson::validate(cursor->value()).isOK()) continue;
    if (cursor->key().starts_with(kDoubtedMark)) {
      if (const auto uuid = bson::Uuid::fromString(cursor->key().substr(kDoubtedMark.size()))) doubted_.insert(*uuid);
      continue;
    }
    const bson::View row(cursor->value().data());
    auto info = std::make_shared<SizeInfo>();
    info->records = row["numRecords"].toInt64();
    info->bytes = row["dataSize"].toInt64();
    sizes_.emplace(cursor->key(), std::move(info));
  }
}

std::shared_ptr<SizeInfo> SizeStorer::of(std::string_view ident) {
  std::lock_guard lock(mutex_);
  auto it = sizes_.find(ident);
  if (it == sizes_.end()) it = sizes_.emplace(ident, std::make_shared<SizeInfo>()).first;
  return it->second;
}

Status SizeStorer::reload() {
  std::lock_guard lock(mutex_);
  sizes_.clear();
  doubted_.clear();
  return load();
}

Status SizeStorer::doubt(const std::set<bson::Uuid>& collections) {
  std::lock_guard lock(mutex_);
  TROUPE_ASSIGN(auto session, engine_.openSession());
  TROUPE_TRY(session->begin());
  {
    TROUPE_ASSIGN(auto cursor, session->cursor(table_));
    for (const bson::Uuid& uuid : collections)
      TROUPE_TRY(cursor->put(std::string(kDoubtedMark) + uuid.toString(), bson::Document().bytes()));
  }
  TROUPE_TRY(session->commit());
  doubted_.insert(collections.begin(), collections.end());
  return Status::OK();
}

std::set<bson::Uuid> SizeStorer::doubted() const {
  std::lock_guard lock(mutex_);
  return doubted_;
}

void SizeStorer::forget(std::string_view ident) {
  std::lock_guard lock(mutex_);
  auto it = sizes_.find(ident);
  if (it == sizes_.end()) return;
  sizes_.erase(it);
  forgotten_.emplace_back(ident);
}

Status SizeStorer::flush() {
  std::lock_guard lock(mutex_);
  return write(false);
}

Status SizeStorer::settle() {
  std::lock_guard lock(mutex_);
  TROUPE_TRY(write(true));
  doubted_.clear();
  return Status::OK();
}

Status SizeStorer::write(bool settles) {
  TROUPE_ASSIGN(auto session, engine_.openSession());
  TROUPE_TRY(session->begin());
  std::vector<std::shared_ptr<SizeInfo>> written;
  const auto put = [&]() -> Status {
    TROUPE_ASSIGN(auto cursor, session->cursor(table_));
    for (const auto& [ident, info] : sizes_) {
      if (!info->dirty.exchange(false)) continue;
      written.push_back(info);
      TROUPE_TRY(
          cursor->put(ident, bson::doc("numRecords", info->records.load(), "dataSize", info->bytes.load()).bytes()));
    }
    for (const auto& ident : forgotten_)
      if (Status removed = cursor->remove(ident); !removed.isOK() && removed.code() != ErrorCode::kNoSuchKey)
        return removed;
    for (const bson::Uuid& uuid : settles ? doubted_ : std::set<bson::Uuid>())
      TROUPE_TRY(cursor->remove(std::string(kDoubtedMark) + uuid.toString()));
    return Status::OK();
  };
  Status status = put();
  if (status.isOK()) status = session->commit();
  if (status.isOK()) {
    forgotten_.clear();
    return status;
  }
  if (session->inTransaction()) session->rollback();
  for (const auto& info : written) info->dirty = true;
  return status;
}

}  // namespace troupe::storage
