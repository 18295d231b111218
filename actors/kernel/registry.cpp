#include "actors/kernel/registry.hpp"

#include <algorithm>

namespace troupe {

namespace {

bson::Date date(WallTime t) {
  return bson::Date{std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count()};
}

/// Orders rows by a field of the admin interface; unknown fields order by path.
bool less(const ActorRow& a, const ActorRow& b, std::string_view field) {
  const auto by = [&](const auto& x, const auto& y) { return x != y ? x < y : a.path < b.path; };
  if (field == "type") return by(a.type, b.type);
  if (field == "phase") return by(a.phase, b.phase);
  if (field == "parent") return by(a.parent, b.parent);
  if (field == "incarnation") return by(a.incarnation, b.incarnation);
  if (field == "mailboxLength") return by(a.mailboxLength, b.mailboxLength);
  if (field == "mailboxOldestMs") return by(a.mailboxOldestMs, b.mailboxOldestMs);
  if (field == "handled") return by(a.handled, b.handled);
  if (field == "handledPerSecond") return by(a.handledPerSecond, b.handledPerSecond);
  if (field == "busyShare") return by(a.busyShare, b.busyShare);
  if (field == "restarts") return by(a.restarts, b.restarts);
  if (field == "pendingAsks") return by(a.pendingAsks, b.pendingAsks);
  if (field == "startedAt") return by(a.startedAt, b.startedAt);
  if (field == "phaseSince") return by(a.phaseSince, b.phaseSince);
  if (field == "lastMessage") return by(a.lastMessage, b.lastMessage);
  if (field == "lastError") return by(a.lastError, b.lastError);
  return a.path < b.path;
}

bool matches(const ActorRow& row, const RowFilter& filter) {
  return (filter.type.empty() || row.type == filter.type) && (filter.phase.empty() || row.phase == filter.phase);
}

}  // namespace

bson::Document ActorRow::toBson() const {
  bson::Builder b;
  b.append("path", path).append("node", node).append("type", type).append("incarnation", incarnation);
  b.append("phase", phase).append("phaseMeaning", phaseMeaning).append("phaseSince", date(phaseSince));
  b.append("mailboxLength", mailboxLength).append("mailboxOldestMs", mailboxOldestMs);
  b.append("handled", handled).append("handledPerSecond", handledPerSecond).append("busyShare", busyShare);
  b.append("restarts", restarts).append("restartLimit", restartLimit);
  b.append("lastMessage", lastMessage).append("lastError", lastError);
  b.append("documentId", documentId).append("documentRevision", documentRevision);
  b.append("pendingAsks", pendingAsks).append("parent", parent).append("strategy", strategy);
  b.append("startedAt", date(startedAt));
  return b.finish();
}

bool isUnder(std::string_view path, std::string_view root) {
  if (root.empty() || root == "/") return true;
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

LiveRow::Rare& LiveRow::rare() {
  if (!rare_) rare_ = std::make_unique<Rare>();
  return *rare_;
}

void LiveRow::setPhase(const char* phase, const char* meaning, WallTime since) {
  std::lock_guard lock(mutex_);
  phase_ = phase;
  phaseMeaning_ = meaning;
  phaseSince_ = since;
}

void LiveRow::setError(std::string error) {
  std::lock_guard lock(mutex_);
  rare().lastError = std::move(error);
}

void LiveRow::setDocument(std::string id, int64_t revision) {
  std::lock_guard lock(mutex_);
  rare().documentId = std::move(id);
  rare().documentRevision = revision;
}

void LiveRow::setRestarts(int64_t restarts, int64_t limit) {
  std::lock_guard lock(mutex_);
  restarts_ = static_cast<int32_t>(restarts);
  restartLimit_ = static_cast<int32_t>(limit);
}

std::shared_ptr<LiveRow> Registry::rowOf(const Address& self) {
  const auto found = rows_.find(self.path());
  if (found != rows_.end()) return *found;
  auto row = std::make_shared<LiveRow>(self);
  row->enteredAt_ = environment_.now();
  row->startedAt_ = row->phaseSince_ = environment_.wallNow();
  rows_.insert(row);
  return row;
}

std::shared_ptr<LiveRow> Registry::keep(const RowSpec& spec) {
  std::lock_guard lock(mutex_);
  const auto row = rowOf(Address(node_, spec.path));
  std::lock_guard rowLock(row->mutex_);
  row->kept_ = true;
  if (!spec.parent.empty()) row->parent_ = Address(node_, spec.parent);
  if (*spec.type) row->type_ = spec.type;
  if (spec.describe) row->rare().describe = spec.describe;
  return row;
}

std::shared_ptr<LiveRow> Registry::enter(const RowSpec& spec) {
  return enter(Address(node_, spec.path), spec.type, spec.parent.empty() ? Address() : Address(node_, spec.parent),
               spec.strategy);
}

std::shared_ptr<LiveRow> Registry::enter(const Address& self, const char* type, const Address& parent,
                                         const char* strategy) {
  const auto now = environment_.wallNow();
  std::shared_ptr<LiveRow> row;
  bool again;
  {
    std::lock_guard lock(mutex_);
    row = rowOf(self);
    std::lock_guard rowLock(row->mutex_);
    if (*type) row->type_ = type;
    if (parent) row->parent_ = parent;
    row->strategy_ = strategy;
    row->phase_ = "running";
    row->phaseMeaning_ = "handles messages";
    row->phaseSince_ = row->startedAt_ = now;
    row->alive_ = true;
    again = ++row->incarnation_ > 1;
    row->enqueued.store(0, std::memory_order_relaxed);
    row->dequeued.store(0, std::memory_order_relaxed);
    row->pendingAsks.store(0, std::memory_order_relaxed);
  }
  publish(again ? RowChange::kRestarted : RowChange::kStarted, self.path(), type);
  return row;
}

void Registry::leave(const std::shared_ptr<LiveRow>& row, const std::string& error) {
  if (!error.empty()) row->setError(error);
  bool removed = false;
  {
    std::lock_guard lock(mutex_);
    std::lock_guard rowLock(row->mutex_);
    row->phase_ = error.empty() ? "ended" : "failed";
    row->phaseMeaning_ = error.empty() ? "stopped in order" : "ended by an error";
    row->phaseSince_ = environment_.wallNow();
    row->alive_ = false;
    if (!row->kept_) {
      const auto found = rows_.find(row->path());
      removed = found != rows_.end() && *found == row;
      if (removed) rows_.erase(found);
    }
  }
  publish(error.empty() ? RowChange::kEnded : RowChange::kFailed, row->path(), error);
  if (removed) publish(RowChange::kRemoved, row->path(), "");
}

void Registry::unkeep(std::string_view path) {
  {
    std::lock_guard lock(mutex_);
    const auto found = rows_.find(path);
    if (found == rows_.end()) return;
    {
      LiveRow& row = **found;
      std::lock_guard rowLock(row.mutex_);
      row.kept_ = false;
      if (row.alive_) return;
    }
    rows_.erase(found);
  }
  publish(RowChange::kRemoved, std::string(path), "");
}

void Registry::setPhase(LiveRow& row, const char* phase, const char* meaning) {
  row.setPhase(phase, meaning, environment_.wallNow());
  publish(RowChange::kPhase, row.path(), phase);
}

ActorRow Registry::snapshot(LiveRow& row) const {
  const auto now = environment_.now();
  std::lock_guard lock(row.mutex_);
  const int64_t handled = row.handled.load(std::memory_order_relaxed);
  const int64_t busy = row.busyNanos.load(std::memory_order_relaxed);
  auto& sample = row.rare();
  if (now - sample.sampledAt >= std::chrono::seconds(1)) {
    const auto since = sample.sampledAt == TimePoint() ? row.enteredAt_ : sample.sampledAt;
    const double seconds = std::max(0.001, std::chrono::duration<double>(now - since).count());
    sample.perSecond = static_cast<float>(static_cast<double>(handled - sample.sampledHandled) / seconds);
    sample.busyShare =
        std::min(1.0F, static_cast<float>(static_cast<double>(busy - sample.sampledBusy) / seconds / 1e9));
    sample.sampledAt = now;
    sample.sampledHandled = handled;
    sample.sampledBusy = busy;
  }
  ActorRow out;
  out.path = row.path();
  out.node = node_;
  out.type = row.type_;
  out.incarnation = row.incarnation_;
  out.phase = row.phase_;
  out.phaseMeaning = row.phaseMeaning_;
  out.phaseSince = row.phaseSince_;
  out.startedAt = row.startedAt_;
  // Two counters read one after the other: a message may fall in between.
  const auto length =
      static_cast<int32_t>(row.enqueued.load(std::memory_order_relaxed) - row.dequeued.load(std::memory_order_relaxed));
  out.mailboxLength = std::max(0, length);
  if (length > 0)
    out.mailboxOldestMs = std::max(
        0, static_cast<int32_t>(ageStamp(environment_.coarseNow()) - row.oldestAtMs.load(std::memory_order_relaxed)));
  out.handled = handled;
  out.handledPerSecond = sample.perSecond;
  out.busyShare = sample.busyShare;
  out.restarts = row.restarts_;
  out.restartLimit = row.restartLimit_;
  out.lastMessage = row.lastMessage.load(std::memory_order_relaxed);
  out.lastError = sample.lastError;
  out.documentId = sample.documentId;
  out.documentRevision = sample.documentRevision;
  out.pendingAsks = row.pendingAsks.load(std::memory_order_relaxed);
  out.parent = row.parent_.path();
  out.strategy = row.strategy_;
  return out;
}

std::vector<ActorRow> Registry::rows(const RowFilter& filter) const {
  std::vector<std::shared_ptr<LiveRow>> live;
  {
    std::lock_guard lock(mutex_);
    for (const auto& row : rows_)
      if (isUnder(row->path(), filter.under)) live.push_back(row);
  }
  std::sort(live.begin(), live.end(), [](const auto& a, const auto& b) { return a->path() < b->path(); });
  std::vector<ActorRow> out;
  for (const auto& row : live) {
    auto snapshotted = snapshot(*row);
    if (matches(snapshotted, filter)) out.push_back(std::move(snapshotted));
  }
  if (!filter.sort.empty()) {
    const bool descending = filter.sort.front() == '-';
    const std::string_view field = std::string_view(filter.sort).substr(descending ? 1 : 0);
    std::sort(out.begin(), out.end(),
              [&](const ActorRow& a, const ActorRow& b) { return descending ? less(b, a, field) : less(a, b, field); });
  }
  if (filter.limit > 0 && out.size() > filter.limit) out.resize(filter.limit);
  return out;
}

std::optional<ActorRow> Registry::row(std::string_view path) const {
  std::shared_ptr<LiveRow> live;
  {
    std::lock_guard lock(mutex_);
    const auto found = rows_.find(path);
    if (found == rows_.end()) return std::nullopt;
    live = *found;
  }
  return snapshot(*live);
}

std::optional<bson::Document> Registry::describe(std::string_view path) const {
  std::function<bson::Document()> describe;
  {
    std::lock_guard lock(mutex_);
    const auto found = rows_.find(path);
    if (found == rows_.end()) return std::nullopt;
    std::lock_guard rowLock((*found)->mutex_);
    if ((*found)->rare_) describe = (*found)->rare_->describe;
  }
  if (!describe) return std::nullopt;
  return describe();
}

size_t Registry::size() const {
  std::lock_guard lock(mutex_);
  return rows_.size();
}

std::shared_ptr<void> Registry::subscribe(Listener listener) {
  auto token = std::make_shared<Listener>(std::move(listener));
  std::lock_guard lock(listenersMutex_);
  listeners_.push_back(token);
  hasListeners_.store(true, std::memory_order_release);
  return token;
}

void Registry::publish(RowChange::Kind kind, const std::string& path, std::string detail) {
  if (!hasListeners_.load(std::memory_order_acquire)) return;
  std::vector<std::shared_ptr<Listener>> live;
  {
    std::lock_guard lock(listenersMutex_);
    std::erase_if(listeners_, [&](const auto& weak) {
      if (auto listener = weak.lock()) live.push_back(std::move(listener));
      return weak.expired();
    });
    hasListeners_.store(!listeners_.empty(), std::memory_order_release);
  }
  const RowChange change{kind, path, std::move(detail)};
  for (const auto& listener : live) (*listener)(change);
}

}  // namespace troupe
