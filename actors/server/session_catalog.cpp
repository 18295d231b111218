#include "actors/server/session_catalog.hpp"

#include <algorithm>
#include <iterator>

#include "actors/server/session_key.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/durable_catalog.hpp"

namespace troupe::server {

struct SessionCatalog::Waiter {
  storage::OperationContext* operation;
  Promise<Status> promise;
  bool hasIt = false;  ///< the session is this operation's
};

struct SessionCatalog::Session {
  Session(bson::Document id, const storage::SessionTables& tables) : writes(std::move(id), tables) {}

  storage::RetryableWrites writes;  ///< of the operation that has it
  storage::OperationContext* user = nullptr;
  TimePoint checkedOut{};  ///< last
  std::deque<WaiterPtr> waiters;
  uint64_t edits = 0;  ///< of its record, by others than the server
  /// The term and the edits as of which `writes` was read.
  std::optional<std::pair<int64_t, uint64_t>> known;
};

storage::RetryableWrites& SessionCatalog::CheckedOut::writes() const { return session_->writes; }

Status SessionCatalog::CheckedOut::bringUpToDate(storage::OperationContext& operation, const storage::OplogStore& log,
                                                 int64_t term, int64_t wanted) const {
  std::pair<int64_t, uint64_t> now;
  {
    const std::lock_guard lock(catalog_->mutex_);
    now = {term, session_->edits};
    if (session_->known == now) return Status::OK();
    session_->known.reset();
  }
  TROUPE_TRY(session_->writes.load(operation, log, wanted));
  operation.recoveryUnit().abandonSnapshot();
  const std::lock_guard lock(catalog_->mutex_);
  session_->known = now;
  return Status::OK();
}

Task<StatusWith<SessionCatalog::CheckedOut>> SessionCatalog::checkOut(Node& node, storage::OperationContext& operation,
                                                                      bson::Document session) {
  WaiterPtr waiter;
  SessionPtr found;
  {
    const std::lock_guard lock(mutex_);
    found = find(session);
    found->checkedOut = node.environment().now();
    if (!found->user) {
      found->user = &operation;
    } else {
      waiter = std::make_shared<Waiter>();
      waiter->operation = &operation;
      found->waiters.push_back(waiter);
    }
  }
  if (!waiter) co_return CheckedOut(this, std::move(found));
  auto outcome = waiter->promise.future();
  const std::function<void(const Status&)> end = [waiter](const Status& why) { waiter->promise.set(why); };
  InterruptibleWait::Options options;
  options.abandon = [this, found, waiter] { giveUp(found, waiter); };
  InterruptibleWait guard(node.environment(), operation, end, std::move(options));
  Status status = co_await outcome;
  guard.settled();
  if (status.isOK()) co_return CheckedOut(this, std::move(found));
  giveUp(found, waiter);
  co_return status;
}

SessionCatalog::SessionPtr SessionCatalog::find(const bson::Document& session) {
  if (const auto known = byId_.find(session.bytes()); known != byId_.end()) {
    byUse_.splice(byUse_.end(), byUse_, known->second);
    return *known->second;
  }
  makeRoom();
  byUse_.push_back(std::make_shared<Session>(session, *tables_));
  byId_.emplace(byUse_.back()->writes.session().bytes(), std::prev(byUse_.end()));
  return byUse_.back();
}

void SessionCatalog::makeRoom() {
  for (auto oldest = byUse_.begin(); oldest != byUse_.end() && byUse_.size() >= kMostSessions;) {
    if ((*oldest)->user) {
      ++oldest;
      continue;
    }
    byId_.erase((*oldest)->writes.session().bytes());
    oldest = byUse_.erase(oldest);
  }
}

void SessionCatalog::checkIn(const SessionPtr& session) {
  const bool isLarge = session->writes.size() > kMostStatements;
  if (isLarge) session->writes.forget();
  const std::lock_guard lock(mutex_);
  if (isLarge) session->known.reset();
  passOn(*session);
}

/// A waiter whose operation ends meanwhile has its outcome already.
void SessionCatalog::passOn(Session& session) {
  session.user = nullptr;
  while (!session.user && !session.waiters.empty()) {
    const WaiterPtr next = session.waiters.front();
    session.waiters.pop_front();
    next->hasIt = next->promise.set(Status::OK());
    if (next->hasIt) session.user = next->operation;
  }
}

void SessionCatalog::giveUp(const SessionPtr& session, const WaiterPtr& waiter) {
  const std::lock_guard lock(mutex_);
  if (waiter->hasIt) return passOn(*session);
  std::erase(session->waiters, waiter);
}

size_t SessionCatalog::size() const {
  const std::lock_guard lock(mutex_);
  return byUse_.size();
}

namespace {

/// Empty for a session of another shape.
std::string familyKeyOf(const storage::RetryableWrites& writes) {
  const auto key = SessionKey::ofStored(writes.session());
  return key.isOK() ? std::string(key->bytes()) : std::string();
}

}  // namespace

size_t SessionCatalog::kill(const std::function<bool(std::string_view familyKey)>& which) {
  size_t ended = 0;
  const std::lock_guard lock(mutex_);
  for (const SessionPtr& session : byUse_) {
    if (!session->user || !which(familyKeyOf(session->writes))) continue;
    session->user->kill(ErrorCode::kInterrupted);
    ++ended;
    for (const WaiterPtr& waiter : session->waiters)
      ended += waiter->promise.set(Status(ErrorCode::kInterrupted, "the session was killed"));
  }
  return ended;
}

std::vector<std::string> SessionCatalog::unusedSince(TimePoint since) const {
  std::vector<std::string> unused;
  const std::lock_guard lock(mutex_);
  for (const SessionPtr& session : byUse_)
    if (!session->user && session->checkedOut < since) unused.push_back(familyKeyOf(session->writes));
  return unused;
}

bool SessionCatalog::forget(const std::string& familyKey) {
  if (familyKey.size() != SessionKey::kBytes) return false;
  const std::string_view key(familyKey);
  const bson::Document id =
      SessionKey(key.substr(0, SessionKey::kIdBytes), key.substr(SessionKey::kIdBytes)).toDocument();
  const std::lock_guard lock(mutex_);
  const auto known = byId_.find(id.bytes());
  if (known == byId_.end() || (*known->second)->user) return false;
  const auto place = known->second;
  byId_.erase(known);
  byUse_.erase(place);
  return true;
}

void SessionCatalog::invalidate(Session& session) {
  ++session.edits;
  if (session.user) session.user->kill(ErrorCode::kInterrupted);
}

/// What a member makes of its log is no edit, nor is what the server writes beside an entry.
void SessionCatalog::invalidateAll(storage::RecoveryUnit& unit) {
  if (unit.operation() && unit.operation()->writeMode() == storage::WriteMode::kApplied) return;
  unit.onCommit([this](auto) {
    const std::lock_guard lock(mutex_);
    for (const SessionPtr& session : byUse_) invalidate(*session);
  });
}

void SessionCatalog::invalidateOne(storage::RecoveryUnit& unit, bson::View document) {
  if (unit.operation() && unit.operation()->writeMode() == storage::WriteMode::kApplied) return;
  const bson::Element id = document["_id"];
  if (!id.is(bson::Type::kDocument)) return;
  unit.onCommit([this, session = bson::Document(id.asDocument())](auto) {
    const std::lock_guard lock(mutex_);
    if (const auto known = byId_.find(session.bytes()); known != byId_.end()) invalidate(**known->second);
  });
}

bool SessionCatalog::observes(const storage::CatalogEntry& entry) const {
  return storage::keepsSessions(entry.ns.toString());
}

Status SessionCatalog::onInsert(storage::RecoveryUnit& unit, const storage::Collection&,
                                const storage::InsertOperation& inserted) {
  for (const bson::View document : inserted.documents) invalidateOne(unit, document);
  return Status::OK();
}

Status SessionCatalog::onUpdate(storage::RecoveryUnit& unit, const storage::Collection&,
                                const storage::UpdateOperation& updated) {
  invalidateOne(unit, updated.after);
  return Status::OK();
}

Status SessionCatalog::onRemove(storage::RecoveryUnit& unit, const storage::Collection&,
                                const storage::RemoveOperation& removed) {
  invalidateOne(unit, removed.document);
  return Status::OK();
}

Status SessionCatalog::onTruncate(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  invalidateAll(unit);
  return Status::OK();
}

Status SessionCatalog::onDrop(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  invalidateAll(unit);
  return Status::OK();
}

Status SessionCatalog::onRename(storage::RecoveryUnit& unit, const storage::RenameOperation&) {
  invalidateAll(unit);
  return Status::OK();
}

}  // namespace troupe::server
