#include "actors/transport/remote_runs.hpp"

#include <vector>

namespace troupe::transport {

void RemoteRun::setOperation(storage::OperationContext* operation) {
  const std::lock_guard lock(mutex_);
  operation_ = operation;
  if (operation_ && killed_ != ErrorCode::kOK) operation_->kill(killed_);
}

Status RemoteRun::continueAs(const Address& cursor) {
  const std::lock_guard lock(mutex_);
  if (killed_ != ErrorCode::kOK) return {killed_, "the command was killed as it opened its cursor"};
  cursor_ = cursor;
  return Status::OK();
}

void RemoteRun::kill(ErrorCode why, Node& node) {
  const std::lock_guard lock(mutex_);
  killed_ = why;
  if (operation_) operation_->kill(why);
  if (cursor_) node.requestStop(cursor_);
}

StatusWith<std::shared_ptr<RemoteRun>> RemoteRuns::add(const Key& key) {
  const std::lock_guard lock(mutex_);
  if (runs_.size() >= kMost)
    return Status(ErrorCode::kExceededMemoryLimit, "this node runs as many commands of other nodes as it may");
  const auto [at, isNew] = runs_.try_emplace(key);
  if (!isNew) return Status(ErrorCode::kIllegalOperation, "a command with this number is running");
  at->second = std::make_shared<RemoteRun>();
  return at->second;
}

void RemoteRuns::remove(const Key& key) {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    if (runs_.erase(key) > 0 && runs_.empty()) action = whenEmpty_;
  }
  if (action) action();
}

bool RemoteRuns::kill(const Key& key, ErrorCode why, Node& node) const {
  std::shared_ptr<RemoteRun> run;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(key);
    if (found == runs_.end()) return false;
    run = found->second;
  }
  run->kill(why, node);
  return true;
}

void RemoteRuns::killAllOf(const std::string& link, ErrorCode why, Node& node) const {
  std::vector<std::shared_ptr<RemoteRun>> ending;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = runs_.lower_bound({link, 0}); at != runs_.end() && at->first.first == link; ++at)
      ending.push_back(at->second);
  }
  for (const auto& run : ending) run->kill(why, node);
}

void RemoteRuns::killAll(ErrorCode why, Node& node) const {
  std::vector<std::shared_ptr<RemoteRun>> ending;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, run] : runs_) ending.push_back(run);
  }
  for (const auto& run : ending) run->kill(why, node);
}

void RemoteRuns::whenEmpty(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!runs_.empty()) {
      whenEmpty_ = std::move(action);
      return;
    }
  }
  action();
}

size_t RemoteRuns::size() const {
  const std::lock_guard lock(mutex_);
  return runs_.size();
}

}  // namespace troupe::transport
