#include "actors/server/session_catalog.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <limits>
#include <map>

#include "actors/server/family_history.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/durable_catalog.hpp"

namespace troupe::server {

using sessions::SessionLife;
using storage::OperationContext;
using storage::RetryableWrites;
using storage::SessionId;

struct SessionCatalog::Waiter {
  OperationContext* operation;
  int64_t ticket;
  Promise<Status> promise{};
};

struct SessionCatalog::Family : std::enable_shared_from_this<Family> {
  Family(std::string familyKey, const storage::SessionTables& tables)
      : key(std::move(familyKey)), parent(SessionId::of(key, "").toDocument(), tables) {}

  const std::string key;
  SessionLife::Memory life;
  RetryableWrites parent;  ///< of the operation that has the family, as are the children
  std::map<std::string, RetryableWrites, std::less<>> children;
  FamilyHistory history;  ///< likewise
  OperationContext* user = nullptr;
  std::vector<WaiterPtr> waiters;
  size_t statements = 0;  ///< of its sessions, when it was checked in last
  int64_t moved = 0;      ///< when it became the last in the order of use
  size_t countStatements() const {
    size_t sum = parent.size() + history.size();
    for (const auto& [key, child] : children) sum += child.size();
    return sum;
  }
  FamilyHistory::Stamp stamp() const { return {life.term, life.edits}; }
  /// Whether what is remembered of the parent holds.
  bool knowsParent() const {
    const auto member = std::ranges::find(life.members, std::string(), &SessionLife::Member::child);
    return member != life.members.end() && member->isKnown &&
           FamilyHistory::Stamp{member->term, member->edits} == stamp();
  }
};

namespace {

int64_t ticksOf(TimePoint time) { return time.time_since_epoch().count(); }
TimePoint timeOf(int64_t ticks) { return TimePoint(TimePoint::duration(ticks)); }

SessionKey sessionKeyOf(std::string_view family) {
  return {family.substr(0, SessionKey::kIdBytes), family.substr(SessionKey::kIdBytes)};
}

template <class Action>
bool has(const SessionLife::Actions& actions) {
  return std::ranges::any_of(actions, [](const auto& action) { return std::holds_alternative<Action>(action); });
}

/// The reason for which an operation that was told to end ends.
Status whyEnded(OperationContext& operation) {
  const Status why = operation.checkForInterrupt(operation.started());
  return why.isOK() ? Status(ErrorCode::kInterrupted, "the session was killed, or its records were edited") : why;
}

}  // namespace

StatusWith<bool> SessionCatalog::CheckedOut::bringUpToDate(OperationContext& operation, const storage::OplogStore& log,
                                                           int64_t term, int64_t wanted) const {
  if (!writes_->isLoaded()) return readMore(operation, log);
  const Actions decided = catalog_->tell(*family_, sessions::HistoryWanted{ticket_, term});
  if (has<sessions::UseHistory>(decided)) return true;
  if (!has<sessions::ReadHistory>(decided)) return whyEnded(operation);
  TROUPE_TRY(writes_->load(operation, wanted));
  return readMore(operation, log);
}

StatusWith<bool> SessionCatalog::CheckedOut::readMore(OperationContext& operation,
                                                      const storage::OplogStore& log) const {
  TROUPE_TRY(writes_->loadMore(operation, log));
  operation.recoveryUnit().abandonSnapshot();
  if (!writes_->isLoaded()) return false;
  if (has<sessions::UseHistory>(catalog_->tell(*family_, sessions::HistoryRead{ticket_}))) return true;
  return whyEnded(operation);
}

Status SessionCatalog::CheckedOut::begin(OperationContext& operation, int64_t number) const {
  TROUPE_TRY(writes_->begin(number));
  sessions::NumberBegun begun{ticket_, numberOfFamily()};
  if (begun.number == sessions::kNoNumber) return Status::OK();
  std::unique_lock lock(catalog_->mutex_);
  const int64_t before = family_->life.number;
  if (before == sessions::kNoNumber) {
    lock.unlock();
    TROUPE_ASSIGN(begun.recorded, recordedNumber(operation));
    lock.lock();
  }
  const Actions decided = SessionLife::on(family_->life, begun);
  catalog_->carryOut(*family_, decided, family_->life.lastUse);
  const bool isNew = std::max(before, begun.recorded) < begun.number;
  if (has<sessions::BeginNumber>(decided)) family_->history.begin(begun.number, family_->stamp(), isNew);
  lock.unlock();
  if (has<sessions::BeginNumber>(decided)) return Status::OK();
  if (!has<sessions::RefuseNumber>(decided)) return whyEnded(operation);
  return {ErrorCode::kTransactionTooOld, "Retryable write with txnNumber " + std::to_string(begun.number) +
                                             " is over: one with a higher txnNumber has begun on its session"};
}

/// The highest one counts for the whole family; where a number is known to have begun it need not be read. A child of a
/// lower one may have been carried out, and its record reaped. The parent has read its own record.
StatusWith<int64_t> SessionCatalog::CheckedOut::recordedNumber(OperationContext& operation) const {
  storage::RecoveryUnit& unit = operation.recoveryUnit();
  const bson::View parent = family_->parent.session();
  const storage::SessionTables& tables = *catalog_->tables_;
  const auto highest = isChild_ ? tables.highestNumber(unit, parent) : tables.highestNumberOfChildren(unit, parent);
  unit.abandonSnapshot();
  return highest;
}

StatusWith<bool> SessionCatalog::CheckedOut::bringFamilyUpToDate(OperationContext& operation,
                                                                 const storage::OplogStore& log) const {
  if (numberOfFamily() == sessions::kNoNumber) return true;
  FamilyHistory& history = family_->history;
  const storage::SessionTables& tables = *catalog_->tables_;
  TROUPE_ASSIGN(bool isKnown, history.readChildren(operation, log, tables, family_->parent.session()));
  if (isKnown && isChild_) {
    bool knowsParent = false;
    {
      const std::lock_guard lock(catalog_->mutex_);
      knowsParent = family_->knowsParent();
    }
    TROUPE_ASSIGN(isKnown, history.readParent(operation, log, tables, family_->parent, knowsParent));
  }
  if (isKnown) writes_->setFamily(&history.statements());
  knowsFamily_ = isKnown;
  return isKnown;
}

Task<StatusWith<SessionCatalog::CheckedOut>> SessionCatalog::checkOut(Node& node, OperationContext& operation,
                                                                      SessionId session) {
  const Environment& environment = node.environment();
  const int64_t now = ticksOf(environment.coarseNow());
  WaiterPtr waiter;
  FamilyPtr family;  // one that is killed while an operation waits may be forgotten before the operation goes on
  {
    const std::lock_guard lock(mutex_);
    Family& found = find(session, now);
    const int64_t ticket = ++lastTicket_;
    const sessions::CheckOutWanted wish{ticket, session.childKey(), session.txnNumber.value_or(sessions::kNoNumber),
                                        now};
    Actions decided = SessionLife::on(found.life, wish);
    const bool isAtOnce = decided.size() == 1 && std::holds_alternative<sessions::Grant>(decided.front());
    if (!isAtOnce) carryOut(found, std::move(decided), now);
    if (found.life.holder.operation == ticket) {
      found.user = &operation;
      co_return handOver(environment, found, session, ticket);
    }
    family = found.shared_from_this();
    waiter = std::make_shared<Waiter>(Waiter{&operation, ticket});
    family->waiters.push_back(waiter);
  }
  auto outcome = waiter->promise.future();
  const std::function<void(const Status&)> end = [waiter](const Status& why) { waiter->promise.set(why); };
  InterruptibleWait::Options options;
  options.abandon = [this, family, waiter, &environment] { giveUp(environment, *family, *waiter); };
  InterruptibleWait guard(node.environment(), operation, end, std::move(options));
  Status status = co_await outcome;
  guard.settled();
  if (!status.isOK()) {
    giveUp(environment, *family, *waiter);
    co_return status;
  }
  const std::lock_guard lock(mutex_);
  co_return handOver(environment, *family, session, waiter->ticket);
}

SessionCatalog::CheckedOut SessionCatalog::handOver(const Environment& environment, Family& family,
                                                    const SessionId& session, int64_t ticket) {
  CheckedOut out;
  out.catalog_ = this;
  out.environment_ = &environment;
  out.family_ = &family;
  out.ticket_ = ticket;
  out.isChild_ = session.isChild();
  out.retryOf_ = session.txnNumber.value_or(sessions::kNoNumber);
  out.writes_ = &family.parent;
  if (session.isChild())
    out.writes_ = &family.children.try_emplace(session.childKey(), session.toDocument(), *tables_).first->second;
  return out;
}

/// The order of use is kept by the second: a family that is used all the time need not be moved with each use.
SessionCatalog::Family& SessionCatalog::find(const SessionId& session, int64_t now) {
  constexpr int64_t kMoveEvery = TimePoint::duration(std::chrono::seconds(1)).count();
  const auto key = session.familyBytes();
  if (const auto known = byKey_.find({key.data(), key.size()}); known != byKey_.end()) {
    Family& family = **known->second;
    if (now - family.moved >= kMoveEvery) {
      byUse_.splice(byUse_.end(), byUse_, known->second);
      family.moved = now;
    }
    return family;
  }
  makeRoom();
  byUse_.push_back(std::make_shared<Family>(session.familyKey(), *tables_));
  byKey_.emplace(byUse_.back()->key, std::prev(byUse_.end()));
  byUse_.back()->moved = now;
  return *byUse_.back();
}

void SessionCatalog::makeRoom() {
  constexpr auto kAnyTime = std::numeric_limits<int64_t>::max();
  for (auto oldest = byUse_.begin(); oldest != byUse_.end() && (isFull() || statements_ > kMostStatementsOfAll);) {
    Family& family = **oldest;
    const bool helps = isFull() || family.statements > 0;
    if (helps) SessionLife::on(family.life, sessions::ReapWanted{kAnyTime});
    if (family.life.phase != SessionLife::Phase::kReaped) {
      ++oldest;
      continue;
    }
    countStatements(family, 0);
    byKey_.erase(family.key);
    oldest = byUse_.erase(oldest);
  }
}

void SessionCatalog::countStatements(Family& family, size_t statements) {
  statements_ += statements - std::exchange(family.statements, statements);
}

void SessionCatalog::carryOut(Family& family, Actions actions, int64_t now) {
  for (size_t i = 0; i < actions.size(); ++i) {  // it may grow meanwhile
    const SessionLife::Action action = std::move(actions[i]);
    if (const auto* granted = std::get_if<sessions::Grant>(&action)) {
      if (grant(family, granted->operation)) continue;
      Actions more = SessionLife::on(family.life, sessions::GaveUp{granted->operation, now});
      std::ranges::move(more, std::back_inserter(actions));
    } else if (std::holds_alternative<sessions::EndOperation>(action)) {
      if (family.user) family.user->kill(ErrorCode::kInterrupted);
    } else if (const auto* ended = std::get_if<sessions::EndWaiter>(&action)) {
      endWaiter(family, ended->operation);
    } else if (const auto* forgotten = std::get_if<sessions::Forget>(&action)) {
      forgetHistory(family, forgotten->child);
    } else if (const auto* over = std::get_if<sessions::ReapRecords>(&action)) {
      dropped_.add(family.life.term, SessionId::of(family.key, over->child).toDocument());
    }
  }
}

/// An operation that did not have to wait is no waiter. A waiter that ends meanwhile has its outcome already.
bool SessionCatalog::grant(Family& family, int64_t ticket) {
  const auto place =
      std::ranges::find_if(family.waiters, [&](const WaiterPtr& waiter) { return waiter->ticket == ticket; });
  if (place == family.waiters.end()) return true;
  const WaiterPtr waiter = *place;
  family.waiters.erase(place);
  family.user = waiter->operation;
  if (waiter->promise.set(Status::OK())) return true;
  family.user = nullptr;
  return false;
}

void SessionCatalog::endWaiter(Family& family, int64_t ticket) {
  const auto place =
      std::ranges::find_if(family.waiters, [&](const WaiterPtr& waiter) { return waiter->ticket == ticket; });
  if (place == family.waiters.end()) return;
  (*place)->promise.set({ErrorCode::kInterrupted, "the session was killed while the operation waited for it"});
  family.waiters.erase(place);
}

void SessionCatalog::forgetHistory(Family& family, const std::string& child) {
  const auto known = child.empty() ? family.children.end() : family.children.find(child);
  const bool isChild = known != family.children.end();
  const size_t forgotten = child.empty() ? family.parent.size() : isChild ? known->second.size() : 0;
  countStatements(family, family.statements - std::min(forgotten, family.statements));
  if (child.empty()) family.parent.forget();
  else if (isChild) family.children.erase(known);
}

void SessionCatalog::checkIn(const CheckedOut& session) {
  RetryableWrites& writes = *session.writes_;
  Family& family = *session.family_;
  writes.setFamily(nullptr);
  family.history.endUse();
  if (session.knowsFamily_) family.history.add(session.numberOfFamily(), writes, session.isChild_, kMostStatements);
  // What an operation has not read to its end is read from its beginning by the next one.
  const bool isLarge = writes.size() > kMostStatements || !writes.isLoaded();
  const int64_t now = ticksOf(session.environment_->coarseNow());
  const sessions::CheckedIn end{session.ticket_, writes.lastStatement(), isLarge, now};
  if (isLarge) writes.forget();  // takes time, so not with the lock held
  else writes.endReservation();
  const std::lock_guard lock(mutex_);
  family.user = nullptr;
  countStatements(family, family.countStatements());
  Actions decided = SessionLife::on(family.life, end);
  if (!decided.empty()) carryOut(family, std::move(decided), now);
  if (statements_ > kMostStatementsOfAll) makeRoom();
}

/// The operation may have been given the family in this moment.
void SessionCatalog::giveUp(const Environment& environment, Family& family, Waiter& waiter) {
  const int64_t now = ticksOf(environment.coarseNow());
  const std::lock_guard lock(mutex_);
  std::erase_if(family.waiters, [&](const WaiterPtr& other) { return other.get() == &waiter; });
  if (family.life.holder.operation == waiter.ticket) family.user = nullptr;
  carryOut(family, SessionLife::on(family.life, sessions::GaveUp{waiter.ticket, now}), now);
}

template <class Event>
SessionCatalog::Actions SessionCatalog::tell(Family& family, const Event& event) {
  const std::lock_guard lock(mutex_);
  const Actions actions = SessionLife::on(family.life, event);
  carryOut(family, actions, family.life.lastUse);
  return actions;
}

bool SessionCatalog::kill(const SessionKey& key) {
  const std::lock_guard lock(mutex_);
  const auto known = byKey_.find(key.bytes());
  if (known == byKey_.end()) return false;
  Family& family = **known->second;
  const bool isFirst = family.life.kills == 0;
  carryOut(family, SessionLife::on(family.life, sessions::Killed{}), family.life.lastUse);
  return isFirst;
}

std::vector<SessionKey> SessionCatalog::keysOf(std::string_view id) const {
  std::vector<SessionKey> found;
  const std::lock_guard lock(mutex_);
  const size_t bucket = byKey_.bucket(id);
  for (auto here = byKey_.begin(bucket); here != byKey_.end(bucket); ++here)
    if (const SessionKey key = sessionKeyOf(here->first); key.id() == id) found.push_back(key);
  return found;
}

std::vector<SessionKey> SessionCatalog::look(TablePlace& place, size_t buckets) const {
  std::vector<SessionKey> found;
  const std::lock_guard lock(mutex_);
  visitPiece(byKey_, place, buckets, [&](const auto& family) { found.push_back(sessionKeyOf(family.first)); });
  return found;
}

std::vector<std::string> SessionCatalog::unusedSince(TimePoint when) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  for (const FamilyPtr& family : byUse_)
    if (mayBeReaped(family->life, ticksOf(when))) keys.push_back(family->key);
  return keys;
}

bool SessionCatalog::forget(const std::string& familyKey) {
  const std::lock_guard lock(mutex_);
  const auto known = byKey_.find(familyKey);
  if (known == byKey_.end()) return true;
  const auto place = known->second;
  SessionLife::on((*place)->life, sessions::ReapWanted{std::numeric_limits<int64_t>::max()});
  if ((*place)->life.phase != SessionLife::Phase::kReaped) return false;
  countStatements(**place, 0);
  byKey_.erase(known);
  byUse_.erase(place);
  return true;
}

FamilyRow SessionCatalog::rowOf(const Family& family) {
  const SessionLife::Memory& life = family.life;
  const auto children = std::ranges::count_if(life.members, [](const auto& member) { return !member.child.empty(); });
  return {.key = family.key,
          .lastCheckOut = timeOf(life.lastUse),
          .waiters = life.waiters.size(),
          .kills = static_cast<size_t>(life.kills),
          .children = static_cast<size_t>(children),
          .lastNumber = life.lastNumber,
          .lastStatement = life.lastStatement,
          .inUse = life.holder.operation != 0,
          .operationId = family.user ? family.user->id() : 0};
}

std::vector<FamilyRow> SessionCatalog::families() const {
  const std::lock_guard lock(mutex_);
  std::vector<FamilyRow> rows;
  rows.reserve(byUse_.size());
  for (const FamilyPtr& family : byUse_) rows.push_back(rowOf(*family));
  return rows;
}

std::optional<FamilyRow> SessionCatalog::family(std::string_view familyKey) const {
  const std::lock_guard lock(mutex_);
  const auto known = byKey_.find(familyKey);
  return known == byKey_.end() ? std::nullopt : std::optional(rowOf(**known->second));
}

size_t SessionCatalog::size() const {
  const std::lock_guard lock(mutex_);
  return byUse_.size();
}

size_t SessionCatalog::rememberedStatements() const {
  const std::lock_guard lock(mutex_);
  return statements_;
}

void SessionCatalog::invalidate(Family& family) {
  carryOut(family, SessionLife::on(family.life, sessions::Invalidated{}), family.life.lastUse);
}

void SessionCatalog::invalidateAll() {
  const std::lock_guard lock(mutex_);
  for (const FamilyPtr& family : byUse_) invalidate(*family);
}

/// What a member makes of its log is no edit, nor is what the server writes beside an entry.
void SessionCatalog::invalidateAll(storage::RecoveryUnit& unit) {
  if (unit.operation() && unit.operation()->writeMode() == storage::WriteMode::kApplied) return;
  unit.onCommit([this](auto) { invalidateAll(); });
}

void SessionCatalog::invalidateOne(storage::RecoveryUnit& unit, bson::View document) {
  if (unit.operation() && unit.operation()->writeMode() == storage::WriteMode::kApplied) return;
  const bson::Element id = document["_id"];
  if (!id.is(bson::Type::kDocument)) return;
  const auto session = SessionId::parse(id.asDocument());
  if (!session.isOK()) return;  // no session of this server
  unit.onCommit([this, operation = unit.operation(), key = session->familyKey()](auto) {
    const std::lock_guard lock(mutex_);
    if (reaping_.contains(operation)) return;
    if (const auto known = byKey_.find(key); known != byKey_.end()) invalidate(**known->second);
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
