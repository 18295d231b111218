#include "supervisors/admin/event_queue.hpp"

#include <nlohmann/json.hpp>

#include "supervisors/admin/actor_json.hpp"

namespace troupe::supervisors {

const char* changeName(RowChange::Kind kind) {
  switch (kind) {
    case RowChange::kStarted: return "started";
    case RowChange::kPhase: return "phase";
    case RowChange::kEnded: return "ended";
    case RowChange::kRestarted: return "restarted";
    case RowChange::kFailed: return "failed";
    case RowChange::kRemoved: return "removed";
  }
  return "";
}

void EventQueue::push(const RowChange& change, WallTime at) {
  const Json data{{"path", change.path}, {"detail", change.detail}, {"at", isoTime(at)}};
  std::function<void()> wake;
  {
    const std::lock_guard lock(mutex_);
    if (!wake_) return;
    if (waiting_.empty()) wake = wake_;
    if (waiting_.size() >= capacity_) {
      waiting_.pop_front();
      ++lost_;
    }
    waiting_.push_back("id: " + std::to_string(next_++) + "\nevent: " + changeName(change.kind) +
                       "\ndata: " + dump(data) + "\n\n");
  }
  if (wake) wake();
}

std::string EventQueue::take() {
  const std::lock_guard lock(mutex_);
  std::string text;
  if (lost_ > 0) text = "event: overflow\ndata: {\"lost\":" + std::to_string(std::exchange(lost_, 0)) + "}\n\n";
  for (const auto& event : waiting_) text += event;
  waiting_.clear();
  return text;
}

void EventQueue::close() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

}  // namespace troupe::supervisors
