#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "messaging/errors/status.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// Bounds the tables whose files are open, each of which costs a descriptor. The engine itself knows no bound: when its
/// journal or a checkpoint finds no descriptor left, it fails as a whole. Thread-safe.
class OpenTables {
 public:
  struct Sources {
    std::function<int64_t()> count;                 ///< files the engine has open now
    std::function<std::set<std::string>()> idents;  ///< tables among them; slower
  };
  /// `limit`: 0 for none. An eighth of it, at most 32, is kept for essential tables.
  OpenTables(int64_t limit, Sources sources)
      : limit_(limit), ordinaryLimit_(limit - std::min<int64_t>(limit / 8, 32)), sources_(std::move(sources)) {}

  /// Before an ordinary table is created. Errors: TooManyFilesOpen.
  Status admitNew();
  /// Before a cursor of an ordinary table is opened: one that is open already costs nothing. Errors: TooManyFilesOpen.
  Status admit(const std::string& ident);
  /// Before an essential table is created or opened, which is never refused: users must not be able to keep the node
  /// from its own tables by opening theirs.
  void noteEssential() { estimate_.fetch_add(1, std::memory_order_relaxed); }

  int64_t limit() const { return limit_; }
  int64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
  bool hasRoom();
  Status refusal();

  const int64_t limit_;
  const int64_t ordinaryLimit_;  ///< of all that are open, when an ordinary one is asked for
  const Sources sources_;
  std::atomic<int64_t> estimate_{0};  ///< at least as many as are open: those at the last count, and all admitted since
  std::atomic<int64_t> refusals_{0};
  std::mutex mutex_;  // guards what follows
  std::set<std::string> idents_;
  int usesLeft_ = 0;  ///< of the list, which grows old
};

/// Whether three quarters of the tables allowed are open: what can be closed is closed from then on. That is what is
/// idle, is written, and has no history behind the oldest time.
bool areMostTablesOpen(const EngineStatistics& statistics);

/// The tables of the data directory whose files this process has open.
std::set<std::string> openTableFiles(const std::string& directory);

}  // namespace troupe::storage
