#include "actors/server/profiler.hpp"

#include "actors/kernel/node.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/plan/plan_stage.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::server {

namespace {

/// How long a client waits for the records of earlier operations.
constexpr std::chrono::seconds kLongestSettling(1);

/// Ends by itself.
class BoundedWork final : public query::QueryWork {
 public:
  std::chrono::steady_clock::time_point coarseNow() const override { return {}; }  // there are no slices
  Status checkForInterrupt() override {
    if (++looks_ < kMostLooks) return Status::OK();
    return {ErrorCode::kExceededTimeLimit, "the filter of the profile takes too long"};
  }
  storage::MemoryBudget* memory() override { return &budget_; }

 private:
  static constexpr int kMostLooks = 25;  ///< about 100,000 steps
  static constexpr int64_t kMostBytes = int64_t{1} << 20;
  int looks_ = 0;
  storage::MemoryBudget budget_{kMostBytes};
};

}  // namespace

bool ProfileSetting::admits(bson::View record) const {
  if (!filter) return false;
  BoundedWork work;
  query::ParseContext context;
  context.work = &work;
  const auto rule = query::parseMatch(*filter, context);
  if (!rule.isOK()) return false;
  const auto passes = query::RowFilter(rule->get()).passes(record, &work);
  return passes.isOK() && *passes;
}

ProfileSettingPtr Profiler::settingOf(std::string_view database) const {
  if (!anySetting_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto at = settings_.find(database);
  return at == settings_.end() ? nullptr : at->second;
}

void Profiler::set(std::string_view database, ProfileSettingPtr setting) {
  const std::lock_guard lock(mutex_);
  if (setting) settings_.insert_or_assign(std::string(database), std::move(setting));
  else if (const auto at = settings_.find(database); at != settings_.end()) settings_.erase(at);
  anySetting_.store(!settings_.empty(), std::memory_order_relaxed);
}

bool Profiler::isOn(std::string_view database) const {
  const ProfileSettingPtr setting = settingOf(database);
  return setting && setting->level != ProfileLevel::kOff;
}

void Profiler::record(std::string_view database, bson::Document record) {
  const std::lock_guard lock(mutex_);
  const size_t bytes = record.bytes().size();
  if (waiting_.size() >= kMostWaiting || waitingBytes_ + bytes > kMostWaitingBytes) {
    ++dropped_;
    return;
  }
  waitingBytes_ += bytes;
  ++recorded_;
  waiting_.push_back({std::string(database), std::move(record)});
  if (waiting_.size() == 1 && wake_) wake_();
}

void Profiler::whenSettled(const std::shared_ptr<Promise<Done>>& settled) {
  {
    const std::lock_guard lock(mutex_);
    if (finished_ < recorded_) {
      settling_.emplace_back(recorded_, settled);
      return;
    }
  }
  settled->set(Done{});
}

int64_t Profiler::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

Profiler::Settled Profiler::settleLocked() {
  Settled settled;
  while (!settling_.empty() && settling_.front().first <= finished_) {
    settled.push_back(std::move(settling_.front().second));
    settling_.pop_front();
  }
  return settled;
}

void Profiler::keepWith(std::function<void()> wake) {
  Settled settled;
  {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
    finished_ = taken_;
    settled = settleLocked();
    if (!waiting_.empty()) wake_();
  }
  for (const auto& each : settled) each->set(Done{});
}

void Profiler::forgetKeeper() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

std::vector<ProfileEntry> Profiler::take(size_t most) {
  std::vector<ProfileEntry> taken;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && taken.size() < most) {
    waitingBytes_ -= waiting_.front().record.bytes().size();
    taken.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  taken_ += static_cast<int64_t>(taken.size());
  return taken;
}

void Profiler::finished(size_t count) {
  Settled settled;
  {
    const std::lock_guard lock(mutex_);
    finished_ += static_cast<int64_t>(count);
    settled = settleLocked();
  }
  for (const auto& each : settled) each->set(Done{});
}

/// Records that wait are given up by their keeper, which finds neither a collection nor a setting.
Status Profiler::onDropDatabase(storage::RecoveryUnit& unit, std::string_view db, const OpTime&) {
  unit.onCommit([this, database = std::string(db)](auto) { set(database, nullptr); });
  return Status::OK();
}

Task<void> settleProfile(Request& request) {
  Environment& environment = request.server().node.environment();
  const auto settled = std::make_shared<Promise<Done>>();
  auto done = settled->future();
  request.server().profiler.whenSettled(settled);
  InterruptibleWait::Options options;
  options.limit = environment.now() + kLongestSettling;
  const auto end = [settled](const Status&) { settled->set(Done{}); };
  const InterruptibleWait guard(environment, request.operation(), end, std::move(options));
  co_await done;
}

}  // namespace troupe::server
