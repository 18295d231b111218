#include "actors/replication/replication_progress.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::replication {

OpTime ReplicationProgress::applied() const {
  const std::lock_guard lock(mutex_);
  return own_.applied;
}

OpTime ReplicationProgress::durable() const {
  const std::lock_guard lock(mutex_);
  return own_.durable;
}

OpTime ReplicationProgress::commitPoint() const {
  const std::lock_guard lock(mutex_);
  return commitPoint_;
}

OpTime ReplicationProgress::newestCommitted() const {
  const std::lock_guard lock(mutex_);
  return std::max(commitPoint_, own_.applied);
}

OpTime ReplicationProgress::stable() const {
  const std::lock_guard lock(mutex_);
  return stableLocked();
}

OpTime ReplicationProgress::stableLocked() const { return std::min(commitPoint_, own_.durable); }

OpTime ReplicationProgress::committedLocked() const { return std::min(commitPoint_, own_.applied); }

ReplicationProgress::Times ReplicationProgress::times() const {
  const std::lock_guard lock(mutex_);
  return {own_.applied, own_.durable, commitPoint_};
}

std::shared_ptr<const ReplicationProgress::Role> ReplicationProgress::role() const {
  const std::lock_guard lock(mutex_);
  return role_;
}

Positions ReplicationProgress::positions() const {
  const std::lock_guard lock(mutex_);
  return positions_;
}

void ReplicationProgress::noteApplied(const OpTime& applied) {
  std::unique_lock lock(mutex_);
  if (applied <= own_.applied) return;
  own_.applied = applied;
  moved(std::move(lock));
}

void ReplicationProgress::noteDurable(const OpTime& durable) {
  std::unique_lock lock(mutex_);
  if (durable <= own_.durable) return;
  own_.durable = durable;
  moved(std::move(lock));
}

void ReplicationProgress::resetTo(const OpTime& at) {
  std::unique_lock lock(mutex_);
  own_ = {at, at};
  commitPoint_ = std::min(commitPoint_, at);
  moved(std::move(lock));
}

/// Members that the config no longer names do not count any more; those of a new config are heard of soon.
void ReplicationProgress::setRole(Role role) {
  std::unique_lock lock(mutex_);
  if (role == *role_) return;
  const auto before = std::exchange(role_, std::make_shared<const Role>(std::move(role)));
  newestTerm_ = std::max(newestTerm_, role_->term);
  judgeAnew();
  std::erase_if(positions_,
                [&](const auto& each) { return each.first == before->self || !role_->config.has(each.first); });
  moved(std::move(lock));
}

void ReplicationProgress::noteTerm(int64_t term) {
  const std::lock_guard lock(mutex_);
  newestTerm_ = std::max(newestTerm_, term);
}

int64_t ReplicationProgress::newestTerm() const {
  const std::lock_guard lock(mutex_);
  return newestTerm_;
}

OpTime ReplicationProgress::appliedWhenVoting(int64_t term) {
  const std::lock_guard lock(mutex_);
  newestTerm_ = std::max(newestTerm_, term);
  return own_.applied;
}

ReplicationProgress::Report ReplicationProgress::report() const {
  const std::lock_guard lock(mutex_);
  const ReplicaSetConfig& config = role_->config;
  return {role_->self, newestTerm_, config.configVersion(), positions_, config.settings.replicaSetId};
}

/// Reports overtake each other. Only a member that has rolled back goes back, and it does so in the term of a primary
/// that it follows: what it reports then counts from its next advance on.
bool ReplicationProgress::notePosition(const NodeName& host, const Position& position) {
  std::unique_lock lock(mutex_);
  if (host == role_->self || !role_->config.has(host)) return false;
  Position& known = positions_[host];
  const Position before = known;
  known = {std::max(known.applied, position.applied), std::max(known.durable, position.durable)};
  if (known == before) return false;
  moved(std::move(lock));
  return true;
}

void ReplicationProgress::learnFromSource(const OpTime& commitPoint) {
  std::unique_lock lock(mutex_);
  if (role_->leads) return;
  const OpTime next = learnedFromSource(commitPoint, own_.applied, commitPoint_);
  if (next == commitPoint_) return;
  commitPoint_ = next;
  moved(std::move(lock));
}

void ReplicationProgress::learnFromHeartbeat(const OpTime& commitPoint) {
  std::unique_lock lock(mutex_);
  if (role_->leads) return;
  const MemberConfig* const self = role_->config.member(role_->self);
  const OpTime next = self && self->arbiterOnly ? learnedByArbiter(commitPoint, commitPoint_)
                                                : learnedFromHeartbeat(commitPoint, own_.applied, commitPoint_);
  if (next == commitPoint_) return;
  commitPoint_ = next;
  moved(std::move(lock));
}

ReplicationProgress::WaiterId ReplicationProgress::whenApplied(bson::Timestamp time, Callback done) {
  return wait([this, time] { return own_.applied.timestamp >= time; }, std::move(done));
}

ReplicationProgress::WaiterId ReplicationProgress::whenCommitted(bson::Timestamp time, Callback done) {
  return wait([this, time] { return committedLocked().timestamp >= time; }, std::move(done));
}

ReplicationProgress::WaiterId ReplicationProgress::whenReached(const OpTime& entry, bool committed, Callback done) {
  const auto isReached = [this, entry, committed] { return (committed ? committedLocked() : own_.applied) >= entry; };
  return wait(isReached, std::move(done));
}

ReplicationProgress::WaiterId ReplicationProgress::whenAcknowledged(const OpTime& write, const Acknowledgement& wanted,
                                                                    Verdict done) {
  {
    const std::lock_guard lock(mutex_);
    if (isOfCommitPoint(role_->config, wanted) && commitPoint_ < write) {
      commitWaiters_.emplace(std::pair(write, ++lastWaiter_), std::move(done));
      ofCommitWaiters_.emplace(lastWaiter_, CommitWaiter{write, wanted});
      return lastWaiter_;
    }
  }
  const auto verdict = std::make_shared<Status>();
  return wait(judge(write, wanted, verdict), [verdict, done = std::move(done)] { done(*verdict); });
}

/// Whether the write is acknowledged, or never can be.
std::function<bool()> ReplicationProgress::judge(const OpTime& write, const Acknowledgement& wanted,
                                                 std::shared_ptr<Status> verdict) {
  return [this, write, wanted, verdict = std::move(verdict)] {
    if (isOfCommitPoint(role_->config, wanted)) return commitPoint_ >= write;
    if (isSatisfied(role_->config, positions_, commitPoint_, write, wanted)) return true;
    *verdict = checkSatisfiable(role_->config, wanted);
    return !verdict->isOK();
  };
}

void ReplicationProgress::judgeAnew() {
  for (auto& [key, done] : std::exchange(commitWaiters_, {})) {
    const CommitWaiter& known = ofCommitWaiters_.at(key.second);
    const auto verdict = std::make_shared<Status>();
    auto tell = [verdict, done = std::move(done)] { done(*verdict); };
    waiters_.emplace(key.second, Waiter{judge(known.write, known.wanted, verdict), std::move(tell)});
  }
  ofCommitWaiters_.clear();
}

ReplicationProgress::WaiterId ReplicationProgress::whenMoved(const Times& seen, Callback done) {
  return wait([this, seen] { return Times{own_.applied, own_.durable, commitPoint_} != seen; }, std::move(done));
}

ReplicationProgress::WaiterId ReplicationProgress::whenCommitPointMoved(const OpTime& seen, Callback done) {
  return wait([this, seen] { return commitPoint_ != seen; }, std::move(done));
}

ReplicationProgress::WaiterId ReplicationProgress::wait(std::function<bool()> isOver, Callback done) {
  {
    const std::lock_guard lock(mutex_);
    if (!isOver()) {
      waiters_.emplace(++lastWaiter_, Waiter{std::move(isOver), std::move(done)});
      return lastWaiter_;
    }
  }
  done();
  return 0;
}

bool ReplicationProgress::withdraw(WaiterId waiter) {
  const std::lock_guard lock(mutex_);
  if (const auto known = ofCommitWaiters_.find(waiter); known != ofCommitWaiters_.end()) {
    commitWaiters_.erase({known->second.write, waiter});
    ofCommitWaiters_.erase(known);
    return true;
  }
  return waiters_.erase(waiter) > 0;
}

size_t ReplicationProgress::waiters() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size() + commitWaiters_.size();
}

void ReplicationProgress::moved(std::unique_lock<std::mutex> lock) {
  if (!role_->self.empty()) positions_[role_->self] = own_;
  if (counts()) commitPoint_ = replication::commitPoint(role_->config, positions_, role_->term, commitPoint_);
  lastApplied_.store(own_.applied.timestamp.asUint64(), std::memory_order_release);
  const OpTime stable = stableLocked();
  majority_.store(committedLocked().timestamp.asUint64(), std::memory_order_release);
  const bool tell = std::exchange(toldStable_, stable) != stable && hearStable_;
  const std::vector<Callback> over = takeOver();
  lock.unlock();
  if (tell) hearStable_(stable);
  for (const Callback& done : over) done();
}

std::vector<ReplicationProgress::Callback> ReplicationProgress::takeOver() {
  std::vector<Callback> over;
  for (auto it = commitWaiters_.begin(); it != commitWaiters_.end() && it->first.first <= commitPoint_;) {
    over.push_back([done = std::move(it->second)] { done(Status::OK()); });
    ofCommitWaiters_.erase(it->first.second);
    it = commitWaiters_.erase(it);
  }
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    if (!it->second.isOver()) {
      ++it;
      continue;
    }
    over.push_back(std::move(it->second.done));
    it = waiters_.erase(it);
  }
  return over;
}

}  // namespace troupe::replication
