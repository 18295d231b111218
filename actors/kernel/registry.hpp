#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "actors/environment/environment.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/envelope/address.hpp"

namespace troupe {

/// A snapshot of an actor's row, for operators. Field names are those of the admin interface.
struct ActorRow {
  std::string path, node, type;
  int64_t incarnation = 1;
  std::string phase, phaseMeaning;
  WallTime phaseSince, startedAt;
  int64_t mailboxLength = 0;
  int64_t mailboxOldestMs = 0;  ///< upper bound of the age of the oldest waiting message
  int64_t handled = 0;          ///< over all incarnations
  double handledPerSecond = 0;  ///< since the last look, at least a second ago
  double busyShare = 0;         ///< share of time spent in handlers since then, 0 to 1; sampled
  int64_t restarts = 0;         ///< within the supervisor's window
  int64_t restartLimit = 0;     ///< 0: not supervised
  std::string lastMessage, lastError;
  std::string documentId;
  int64_t documentRevision = 0;
  int64_t pendingAsks = 0;
  std::string parent, strategy;  ///< path of the supervisor; strategy if it is one

  bson::Document toBson() const;
};

/// One actor's live numbers. Written by the actor and by senders with relaxed atomics, read by anyone. Things other
/// than actors that deserve a row (connections) hold one as well.
class LiveRow {
 public:
  explicit LiveRow(Address self) : self_(std::move(self)) {}
  std::atomic<int64_t> handled{0};
  std::atomic<int64_t> busyNanos{0};
  std::atomic<uint32_t> enqueued{0}, dequeued{0};  ///< difference: mailbox length
  std::atomic<uint32_t> oldestAtMs{0};             ///< coarse stamp of the message handled last or first waiting
  std::atomic<int32_t> pendingAsks{0};
  std::atomic<const char*> lastMessage{""};  ///< static text

  /// Texts must be static.
  void setPhase(const char* phase, const char* meaning, WallTime since);
  void setError(std::string error);
  void setDocument(std::string id, int64_t revision);
  void setRestarts(int64_t restarts, int64_t limit);
  const std::string& path() const { return self_.path(); }

 private:
  friend class Registry;
  /// Held for a few instructions at a time; a tenth of a mutex's size.
  class Lock {
   public:
    void lock() {
      while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    void unlock() { flag_.clear(std::memory_order_release); }

   private:
    std::atomic_flag flag_;
  };
  struct Rare {
    std::string lastError, documentId;
    int64_t documentRevision = 0;
    std::function<bson::Document()> describe;
    TimePoint sampledAt;
    int64_t sampledHandled = 0, sampledBusy = 0;
    float perSecond = 0, busyShare = 0;
  };
  Rare& rare();
  const Address self_;  ///< shares its text with all who know the actor
  Address parent_;
  const char* type_ = "";
  const char* strategy_ = "";
  const char* phase_ = "starting";
  const char* phaseMeaning_ = "";
  WallTime phaseSince_, startedAt_;
  TimePoint enteredAt_;
  int32_t incarnation_ = 0, restarts_ = 0, restartLimit_ = 0;
  mutable Lock mutex_;  // guards all of these
  bool kept_ = false, alive_ = false;
  std::unique_ptr<Rare> rare_;
};

/// Whether a path is that of `root` or of something below it; every path is below "" and "/".
bool isUnder(std::string_view path, std::string_view root);

/// Which rows to return. Empty fields do not filter.
struct RowFilter {
  std::string type = {}, phase = {}, under = {};  ///< `under`: this path and all below it
  std::string sort = {};                          ///< a field name, "-" before it for descending; default by path
  size_t limit = 0;                               ///< 0: all
};

/// The fixed fields of a row. `type` and `strategy` must be static text.
struct RowSpec {
  std::string path = {};
  const char* type = "";
  std::string parent = {};
  const char* strategy = "";
  /// State document of a row without actor and mailbox, such as the storage engine's.
  /// Called on any thread, as long as the row is kept.
  std::function<bson::Document()> describe = nullptr;
};

/// A change of a row, for an event stream.
struct RowChange {
  enum Kind { kStarted, kPhase, kEnded, kRestarted, kFailed, kRemoved } kind;
  std::string path;
  std::string detail;  ///< the phase, or the error
};

/// All rows of a node. Thread-safe. Reading costs the readers, not the actors.
class Registry {
 public:
  Registry(std::string node, Environment& environment) : node_(std::move(node)), environment_(environment) {}

  /// Enters a row, or a further incarnation of a kept one. The row stays valid as long as the pointer.
  std::shared_ptr<LiveRow> enter(const RowSpec& spec);
  /// The same for an actor: the row shares the text of the addresses.
  std::shared_ptr<LiveRow> enter(const Address& self, const char* type, const Address& parent, const char* strategy);
  /// The actor behind it has ended: the row goes, unless it is kept.
  void leave(const std::shared_ptr<LiveRow>& row, const std::string& error);
  /// A kept row outlives its actor (supervised children between two lives); ending the keeping of a row without an
  /// actor removes it.
  std::shared_ptr<LiveRow> keep(const RowSpec& spec);
  void unkeep(std::string_view path);
  /// Sets the phase and tells the subscribers.
  void setPhase(LiveRow& row, const char* phase, const char* meaning);

  std::vector<ActorRow> rows(const RowFilter& filter = {}) const;
  std::optional<ActorRow> row(std::string_view path) const;
  /// The state document of a row that is no actor's; empty for actors, which are asked themselves.
  std::optional<bson::Document> describe(std::string_view path) const;
  size_t size() const;

  /// Calls `listener` on the thread of each change, shortly and without blocking, until the returned token dies.
  using Listener = std::function<void(const RowChange&)>;
  [[nodiscard]] std::shared_ptr<void> subscribe(Listener listener);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view path) const noexcept { return std::hash<std::string_view>()(path); }
    size_t operator()(const std::shared_ptr<LiveRow>& row) const noexcept { return (*this)(row->path()); }
  };
  struct SamePath {
    using is_transparent = void;
    static std::string_view path(std::string_view path) { return path; }
    static std::string_view path(const std::shared_ptr<LiveRow>& row) { return row->path(); }
    bool operator()(const auto& a, const auto& b) const noexcept { return path(a) == path(b); }
  };
  /// The row of that path, made if there is none.
  std::shared_ptr<LiveRow> rowOf(const Address& self);
  ActorRow snapshot(LiveRow& row) const;
  void publish(RowChange::Kind kind, const std::string& path, std::string detail);

  const std::string node_;
  Environment& environment_;
  mutable std::mutex mutex_;
  std::unordered_set<std::shared_ptr<LiveRow>, Hash, SamePath> rows_;  ///< by path
  std::mutex listenersMutex_;
  std::vector<std::weak_ptr<Listener>> listeners_;
  std::atomic<bool> hasListeners_{false};
};

}  // namespace troupe
