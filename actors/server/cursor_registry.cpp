#include "actors/server/cursor_registry.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

/// Of a cursor that has ended, until its client has heard of that: its name, its session, its owners.
constexpr int64_t kBytesOfEndedCursor = 1024;

/// A cursor is used in the session that opened it, or outside of sessions when none did.
Status checkSession(int64_t id, bson::View opened, bson::View used) {
  const std::string cursor = "Cannot run getMore on cursor " + std::to_string(id);
  if (!opened.empty() && used.empty())
    return {ErrorCode(50736), cursor + ", which was created in a session, without an lsid"};
  if (opened.empty() && !used.empty())
    return {ErrorCode(50737), cursor + ", which was not created in a session, in a session"};
  if (opened["id"].valueBytes() != used["id"].valueBytes()) {
    return {ErrorCode(50738), cursor + ", which was created in another session"};
  }
  return Status::OK();
}

bool owns(const std::vector<UserKey>& users, const std::vector<UserKey>& owners) {
  return owners.empty() || std::find_first_of(users.begin(), users.end(), owners.begin(), owners.end()) != users.end();
}

}  // namespace

ClientCursor::ClientCursor() = default;
ClientCursor::~ClientCursor() = default;

bson::Document shownCursor(const ClientCursor& cursor) {
  return bson::doc("cursorId", cursor.id, "nDocsReturned", cursor.returned, "nBatchesReturned", cursor.batches,
                   "noCursorTimeout", cursor.noTimeout, "originatingCommand", cursor.command);
}

int64_t CursorRegistry::add(std::unique_ptr<ClientCursor> cursor) {
  const std::lock_guard lock(mutex_);
  int64_t id = 0;
  while (id == 0 || slots_.contains(id)) id = randomId_();
  cursor->id = id;
  ++opened_;
  Slot slot;
  slot.ns = cursor->ns;
  slot.session = cursor->session;
  slot.sessionKey = cursor->sessionKey;
  if (slot.sessionKey) bySession_[*slot.sessionKey].insert(id);
  slot.owners = cursor->owners;
  slot.cursor = std::move(cursor);
  slots_.emplace(id, std::move(slot));
  return id;
}

StatusWith<std::unique_ptr<ClientCursor>> CursorRegistry::pin(int64_t id, std::string_view ns,
                                                              const std::vector<UserKey>& users, bson::View session,
                                                              storage::OperationContext* operation) {
  const std::lock_guard lock(mutex_);
  const auto it = slots_.find(id);
  if (it == slots_.end() || it->second.killed) {
    return Status(ErrorCode::kCursorNotFound, "cursor id " + std::to_string(id) + " not found");
  }
  Slot& slot = it->second;
  if (!slot.cursor && !slot.planKilled)
    return Status(ErrorCode(12051), "cursor id " + std::to_string(id) + " is already in use");
  if (slot.ns != ns) {
    return Status(ErrorCode::kUnauthorized, "Requested getMore on namespace '" + std::string(ns) +
                                                "', but cursor belongs to a different namespace " + slot.ns);
  }
  if (!owns(users, slot.owners))
    return Status(ErrorCode::kUnauthorized,
                  "cursor id " + std::to_string(id) + " was not created by the authenticated user");
  TROUPE_TRY(checkSession(id, slot.session, session));
  if (slot.planKilled) {
    erase(it);
    return Status(ErrorCode::kQueryPlanKilled,
                  "cursor id " + std::to_string(id) + " was ended: its collection was dropped or renamed");
  }
  slot.operation = operation;
  slot.shown = shownCursor(*slot.cursor);
  return std::move(slot.cursor);
}

StatusWith<bool> CursorRegistry::belongsTo(int64_t id, const std::vector<UserKey>& users) const {
  const std::lock_guard lock(mutex_);
  const auto it = slots_.find(id);
  if (it == slots_.end() || it->second.killed)
    return Status(ErrorCode::kCursorNotFound, "cursor id " + std::to_string(id) + " not found");
  return owns(users, it->second.owners);
}

bool CursorRegistry::unpin(std::unique_ptr<ClientCursor>& cursor, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const auto it = slots_.find(cursor->id);
  if (it == slots_.end()) return false;
  it->second.operation = nullptr;
  if (it->second.killed) {
    erase(it);
    return false;
  }
  cursor->lastUsed = now;
  it->second.cursor = std::move(cursor);
  return true;
}

std::unordered_map<int64_t, bson::Document> CursorRegistry::inUse() const {
  std::unordered_map<int64_t, bson::Document> used;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, slot] : slots_)
    if (slot.operation) used.emplace(slot.operation->id(), slot.shown);
  return used;
}

void CursorRegistry::forget(int64_t id) {
  const std::lock_guard lock(mutex_);
  if (const auto it = slots_.find(id); it != slots_.end()) erase(it);
}

void CursorRegistry::erase(std::unordered_map<int64_t, Slot>::iterator it) {
  if (const auto& session = it->second.sessionKey) {
    const auto cursors = bySession_.find(*session);
    cursors->second.erase(it->first);
    if (cursors->second.empty()) bySession_.erase(cursors);
  }
  slots_.erase(it);
}

std::unique_ptr<ClientCursor> CursorRegistry::killLocked(std::unordered_map<int64_t, Slot>::iterator it,
                                                         ErrorCode why) {
  if (it->second.cursor || it->second.planKilled) {
    auto cursor = std::move(it->second.cursor);
    erase(it);
    return cursor;
  }
  it->second.killed = true;
  if (it->second.operation) it->second.operation->kill(why);
  return nullptr;
}

CursorRegistry::Killed CursorRegistry::kill(int64_t id) {
  std::unique_ptr<ClientCursor> dropped;  // destroyed after the mutex is released
  const std::lock_guard lock(mutex_);
  const auto it = slots_.find(id);
  if (it == slots_.end() || it->second.killed) return Killed::kNotFound;
  dropped = killLocked(it);
  return Killed::kKilled;
}

int64_t CursorRegistry::killIf(const std::function<bool(const ClientCursor&)>& which, Afterwards afterwards) {
  std::vector<std::unique_ptr<ClientCursor>> dropped;
  const ErrorCode ofUsed =
      afterwards == Afterwards::kPlanKilled ? ErrorCode::kQueryPlanKilled : ErrorCode::kCursorKilled;
  const std::lock_guard lock(mutex_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    const auto here = it++;
    if (here->second.cursor) {
      if (!which(*here->second.cursor)) continue;
      if (afterwards == Afterwards::kPlanKilled) {
        here->second.planKilled = here->second.cursor->lastUsed;
        here->second.memory = std::move(here->second.cursor->memory);
        here->second.memory.shrinkTo(kBytesOfEndedCursor);
        dropped.push_back(std::move(here->second.cursor));
      } else {
        dropped.push_back(killLocked(here));
      }
      continue;
    }
    ClientCursor pinned;
    pinned.id = here->first;
    pinned.ns = here->second.ns;
    pinned.session = here->second.session;
    pinned.sessionKey = here->second.sessionKey;
    pinned.owners = here->second.owners;
    const bool isTold = here->second.planKilled && afterwards == Afterwards::kPlanKilled;
    if (!isTold && which(pinned)) dropped.push_back(killLocked(here, ofUsed));
  }
  return static_cast<int64_t>(dropped.size());
}

int64_t CursorRegistry::killIdle(TimePoint unusedSince) {
  std::vector<std::unique_ptr<ClientCursor>> dropped;
  const std::lock_guard lock(mutex_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    const auto here = it++;
    const ClientCursor* cursor = here->second.cursor.get();
    if (here->second.planKilled && *here->second.planKilled < unusedSince) erase(here);
    else if (cursor && !cursor->noTimeout && cursor->lastUsed < unusedSince) dropped.push_back(killLocked(here));
  }
  timedOut_ += static_cast<int64_t>(dropped.size());
  return static_cast<int64_t>(dropped.size());
}

int64_t CursorRegistry::killOf(std::span<const SessionKey> sessions, int64_t most) {
  std::vector<std::unique_ptr<ClientCursor>> dropped;  // destroyed after the mutex is released
  int64_t killed = 0;
  const std::lock_guard lock(mutex_);
  for (const SessionKey& session : sessions) {
    const auto cursors = bySession_.find(session);
    if (cursors == bySession_.end()) continue;
    std::vector<int64_t> ids;
    for (const int64_t id : cursors->second) {
      if (killed == most) break;
      if (slots_.find(id)->second.killed) continue;
      ids.push_back(id);
      ++killed;
    }
    for (const int64_t id : ids) dropped.push_back(killLocked(slots_.find(id)));
  }
  return killed;
}

size_t CursorRegistry::countOf(const SessionKey& session) const {
  const std::lock_guard lock(mutex_);
  const auto cursors = bySession_.find(session);
  return cursors == bySession_.end() ? 0 : cursors->second.size();
}

std::vector<SessionKey> CursorRegistry::sessionsOf(std::string_view id) const {
  std::vector<SessionKey> found;
  const std::lock_guard lock(mutex_);
  const size_t bucket = bySession_.bucket(SessionKey(id, {}));
  for (auto here = bySession_.begin(bucket); here != bySession_.end(bucket); ++here)
    if (here->first.id() == id) found.push_back(here->first);
  return found;
}

std::vector<SessionKey> CursorRegistry::sessions(TablePlace& place, size_t buckets,
                                                 std::optional<TimePoint> unusedSince) const {
  std::vector<SessionKey> found;
  const std::lock_guard lock(mutex_);
  visitPiece(bySession_, place, buckets, [&](const auto& session) {
    const auto isUsed = [&](int64_t cursor) { return isUsedSince(cursor, *unusedSince); };
    if (!unusedSince || std::ranges::none_of(session.second, isUsed)) found.push_back(session.first);
  });
  return found;
}

std::vector<CursorRegistry::OwnedSession> CursorRegistry::ownedSessions(TablePlace& place, size_t buckets) const {
  std::vector<OwnedSession> found;
  const std::lock_guard lock(mutex_);
  visitPiece(bySession_, place, buckets, [&](const auto& session) {
    const int64_t any = *session.second.begin();  // all of them have the owners of the session
    found.push_back({session.first, slots_.find(any)->second.owners});
  });
  return found;
}

/// Of a cursor that is gone already only its last use is known.
bool CursorRegistry::isUsedSince(int64_t id, TimePoint when) const {
  const Slot& slot = slots_.find(id)->second;
  if (slot.planKilled) return *slot.planKilled >= when;
  return !slot.cursor || slot.cursor->lastUsed >= when;
}

CursorRegistry::Statistics CursorRegistry::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics s;
  s.timedOut = timedOut_;
  s.totalOpened = opened_;
  for (const auto& [id, slot] : slots_) {
    s.open += !slot.planKilled;
    s.pinned += slot.cursor == nullptr && !slot.planKilled;
    s.noTimeout += slot.cursor && slot.cursor->noTimeout;
  }
  return s;
}

void CursorRegistry::each(const std::function<void(const ClientCursor&)>& visitIdle) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, slot] : slots_) {
    if (slot.cursor) visitIdle(*slot.cursor);
  }
}

}  // namespace troupe::server
