#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "actors/kernel/node.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::transport {

/// One command of another node while it runs, or its cursor while that is open, for those who end it. Thread-safe.
class RemoteRun {
 public:
  /// The operation that carries it out now; null: none. One that was killed before is killed at once.
  void setOperation(storage::OperationContext* operation);
  /// Its results go on as a cursor, under that actor. Errors: the code of its kill, if it was killed meanwhile.
  Status continueAs(const Address& cursor);
  /// Kills the operation, stops the cursor.
  void kill(ErrorCode why, Node& node);

 private:
  std::mutex mutex_;
  storage::OperationContext* operation_ = nullptr;
  Address cursor_;
  ErrorCode killed_ = ErrorCode::kOK;
};

/// All commands and cursors of other nodes that are alive on this one, by the link they came over and the number that
/// their sender gave them. Thread-safe.
class RemoteRuns {
 public:
  /// More are refused.
  static constexpr size_t kMost = 10'000;
  /// Path of the link's actor, empty for this node itself; and the sender's number.
  using Key = std::pair<std::string, uint64_t>;

  /// Errors: ExceededMemoryLimit, there are too many; IllegalOperation, the number is in use.
  StatusWith<std::shared_ptr<RemoteRun>> add(const Key& key);
  void remove(const Key& key);
  /// False when no run has that key.
  bool kill(const Key& key, ErrorCode why, Node& node) const;
  /// All of one link, which has ended.
  void killAllOf(const std::string& link, ErrorCode why, Node& node) const;
  void killAll(ErrorCode why, Node& node) const;
  /// Calls `action` when the last run has been removed, on the thread that does so; at once if there is none.
  void whenEmpty(std::function<void()> action);
  size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<RemoteRun>> runs_;
  std::function<void()> whenEmpty_;
};

}  // namespace troupe::transport
