#include "supervisors/supervision/supervision_policy.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::supervisors {

const char* strategyName(Strategy strategy) {
  switch (strategy) {
    case Strategy::kOneForOne: return "one for one";
    case Strategy::kOneForAll: return "one for all";
    case Strategy::kRestForOne: return "rest for one";
  }
  return "";
}

const char* childStateName(ChildState state) {
  switch (state) {
    case ChildState::kWaiting: return "waiting";
    case ChildState::kStarting: return "starting";
    case ChildState::kRunning: return "running";
    case ChildState::kStopping: return "stopping";
    case ChildState::kBackingOff: return "backing off";
    case ChildState::kParked: return "parked";
    case ChildState::kStopped: return "stopped";
  }
  return "";
}

const char* childStateMeaning(ChildState state) {
  switch (state) {
    case ChildState::kWaiting: return "is started when those before it are ready";
    case ChildState::kStarting: return "was started and is not ready yet";
    case ChildState::kRunning: return "is ready and handles messages";
    case ChildState::kStopping: return "was asked to stop";
    case ChildState::kBackingOff: return "has failed and is started again after a pause";
    case ChildState::kParked: return "is set aside until an operator resumes it";
    case ChildState::kStopped: return "has ended and is not started again";
  }
  return "";
}

SupervisionPolicy::SupervisionPolicy(Strategy strategy, Intensity intensity, Backoff backoff,
                                     std::vector<ChildRules> children)
    : strategy_(strategy), intensity_(intensity), backoff_(backoff) {
  for (auto& rules : children) {
    Child child;
    child.rules = std::move(rules);
    children_.push_back(std::move(child));
  }
}

namespace {
bool isAlive(ChildState state) {
  return state == ChildState::kStarting || state == ChildState::kRunning || state == ChildState::kStopping;
}
}  // namespace

// --- Starting ---

SupervisionPolicy::Actions SupervisionPolicy::start() {
  Actions out;
  for (auto& child : children_) child.due = true;
  startDue(out);
  return out;
}

void SupervisionPolicy::startDue(Actions& out) {
  if (ending_ || !toStop_.empty()) return;
  int level = INT32_MAX;  // the lowest level with a child that is not up yet
  for (const auto& child : children_)
    if (!child.excused && (child.due || child.state == ChildState::kStarting || child.state == ChildState::kBackingOff))
      level = std::min(level, child.rules.level);
  for (size_t i = 0; i < children_.size(); ++i) {
    auto& child = children_[i];
    // Those behind it depend on it, and start after it.
    const bool isPausing = child.state == ChildState::kBackingOff && child.rules.level <= level;
    if (isPausing && strategy_ != Strategy::kOneForOne) break;
    if (!child.due || isAlive(child.state) || child.rules.level > level) continue;
    child.due = false;
    child.state = ChildState::kStarting;
    out.push_back(StartChild{i});
  }
  const bool allUp = std::ranges::all_of(children_, &Child::isUp);
  const auto isSettled = [](const Child& child) { return child.excused || child.isUp(); };
  if (allUp ? !announced_ : !started_ && std::ranges::all_of(children_, isSettled)) {
    started_ = true;
    announced_ = allUp;
    out.push_back(AllReady{});
  }
}

SupervisionPolicy::Actions SupervisionPolicy::childReady(size_t child) {
  Actions out;
  if (children_[child].state != ChildState::kStarting) return out;
  children_[child].state = ChildState::kRunning;
  children_[child].excused = false;
  startDue(out);
  return out;
}

SupervisionPolicy::Actions SupervisionPolicy::retryDue(size_t child) {
  Actions out;
  if (children_[child].state != ChildState::kBackingOff) return out;
  children_[child].state = ChildState::kWaiting;
  children_[child].due = true;
  startDue(out);
  return out;
}

SupervisionPolicy::Actions SupervisionPolicy::add(ChildRules rules) {
  Actions out;
  Child child;
  child.rules = std::move(rules);
  child.due = true;
  children_.push_back(std::move(child));
  startDue(out);
  return out;
}

// --- Stopping ---

void SupervisionPolicy::ask(size_t child, Then then, Actions& out) {
  children_[child].state = ChildState::kStopping;
  children_[child].then = then;
  out.push_back(RequestStop{child});
  out.push_back(KillAfterGrace{child});
}

void SupervisionPolicy::stopNext(Actions& out) {
  while (!toStop_.empty()) {
    const size_t child = toStop_.back();
    auto& state = children_[child].state;
    if (state == ChildState::kStopping) return;  // its end goes on from here
    if (isAlive(state)) return ask(child, ending_ ? Then::kStop : Then::kStart, out);
    // Not alive: nothing to stop. One that was pausing starts with the others.
    toStop_.pop_back();
    if (ending_) {
      if (state != ChildState::kParked) state = ChildState::kStopped;
    } else if (state == ChildState::kBackingOff || state == ChildState::kWaiting) {
      state = ChildState::kWaiting;
      children_[child].due = true;
    }
  }
  if (ending_) out.push_back(End{*ending_});
  else startDue(out);
}

SupervisionPolicy::Actions SupervisionPolicy::graceOver(size_t child) {
  Actions out;
  if (children_[child].state == ChildState::kStopping) out.push_back(Kill{child});
  return out;
}

void SupervisionPolicy::end(Status reason, Actions& out) {
  if (ending_) return;
  ending_ = std::move(reason);
  toStop_.clear();
  for (size_t i = 0; i < children_.size(); ++i) {
    children_[i].due = false;
    toStop_.push_back(i);
  }
  stopNext(out);
}

SupervisionPolicy::Actions SupervisionPolicy::shutdown() {
  Actions out;
  end(Status::OK(), out);
  return out;
}

// --- Failing ---

Duration SupervisionPolicy::pauseAfter(size_t failures, double draw) const {
  const double most = static_cast<double>(backoff_.most.count());
  const double full = std::min(
      most, static_cast<double>(backoff_.first.count()) * std::pow(backoff_.factor, static_cast<double>(failures) - 1));
  return Duration(static_cast<int64_t>(full * (1 - backoff_.jitter * draw)));
}

void SupervisionPolicy::restartSiblings(size_t child, Actions& out) {
  toStop_.clear();
  for (size_t i = strategy_ == Strategy::kOneForAll ? 0 : child + 1; i < children_.size(); ++i)
    if (i != child && (isAlive(children_[i].state) || children_[i].state == ChildState::kBackingOff))
      toStop_.push_back(i);
  stopNext(out);
}

void SupervisionPolicy::failed(size_t index, const Status& reason, TimePoint now, double draw, Actions& out) {
  auto& child = children_[index];
  child.reason = reason.isOK() ? "it ended although it is permanent" : reason.toString();
  child.failures.push_back(now);
  while (child.failures.front() + intensity_.window < now) child.failures.pop_front();
  if (static_cast<int>(child.failures.size()) > intensity_.limit) {
    if (child.rules.exhausted == OnExhausted::kPark) {
      child.state = ChildState::kParked;
      startDue(out);
      return;
    }
    child.state = ChildState::kStopped;
    const Status last = reason.isOK() ? Status(ErrorCode::kInternalError, child.reason) : reason;
    return end(
        last.withContext(child.rules.name + " failed " + std::to_string(child.failures.size()) + " times in a row"),
        out);
  }
  announced_ = false;
  child.state = ChildState::kBackingOff;
  child.excused = child.rules.exhausted == OnExhausted::kPark;
  out.push_back(RetryAfter{index, pauseAfter(child.failures.size(), draw)});
  if (strategy_ == Strategy::kOneForOne) startDue(out);
  else restartSiblings(index, out);
}

SupervisionPolicy::Actions SupervisionPolicy::childEnded(size_t index, const Status& reason, TimePoint now,
                                                         double draw) {
  Actions out;
  auto& child = children_[index];
  if (!isAlive(child.state)) return out;
  if (child.state == ChildState::kStopping) {
    const bool inTurn = !toStop_.empty() && toStop_.back() == index;
    if (inTurn) toStop_.pop_back();
    child.state = child.then == Then::kPark ? ChildState::kParked : ChildState::kStopped;
    if (child.then == Then::kStart && !ending_) {
      // A temporary child that is stopped for its siblings' sake does not come back.
      if (child.rules.restart == Restart::kTemporary && inTurn) child.state = ChildState::kStopped;
      else {
        child.state = ChildState::kWaiting;
        child.due = true;
      }
    }
    stopNext(out);
    return out;
  }
  if (ending_) {
    child.state = ChildState::kStopped;
    stopNext(out);
    return out;
  }
  const bool again =
      child.rules.restart == Restart::kPermanent || (child.rules.restart == Restart::kTransient && !reason.isOK());
  if (again) {
    failed(index, reason, now, draw, out);
    return out;
  }
  child.state = ChildState::kStopped;
  if (!reason.isOK()) child.reason = reason.toString();
  startDue(out);
  return out;
}

// --- Requests of operators ---

namespace {
Status refused(const ChildRules& rules, ChildState state, const char* action) {
  return Status(ErrorCode::kIllegalOperation,
                std::string("cannot ") + action + " " + rules.name + ": it is " + childStateName(state));
}
}  // namespace

StatusWith<SupervisionPolicy::Actions> SupervisionPolicy::restart(size_t index) {
  Actions out;
  auto& child = children_[index];
  if (ending_ || child.state == ChildState::kStopping || child.state == ChildState::kParked)
    return refused(child.rules, child.state, "restart");
  if (child.state == ChildState::kBackingOff) return retryDue(index);
  announced_ = false;
  if (isAlive(child.state)) {
    ask(index, Then::kStart, out);
    return out;
  }
  child.state = ChildState::kWaiting;
  child.due = true;
  startDue(out);
  return out;
}

StatusWith<SupervisionPolicy::Actions> SupervisionPolicy::park(size_t index, const std::string& reason) {
  Actions out;
  auto& child = children_[index];
  if (ending_ || child.state == ChildState::kStopping || child.state == ChildState::kParked)
    return refused(child.rules, child.state, "park");
  child.reason = reason;
  child.due = false;
  if (isAlive(child.state)) {
    ask(index, Then::kPark, out);
    return out;
  }
  child.state = ChildState::kParked;
  startDue(out);
  return out;
}

StatusWith<SupervisionPolicy::Actions> SupervisionPolicy::resume(size_t index) {
  Actions out;
  auto& child = children_[index];
  if (ending_ || (child.state != ChildState::kParked && child.state != ChildState::kStopped))
    return refused(child.rules, child.state, "resume");
  child.failures.clear();
  child.excused = false;
  child.reason.clear();
  child.state = ChildState::kWaiting;
  child.due = true;
  announced_ = false;
  startDue(out);
  return out;
}

StatusWith<SupervisionPolicy::Actions> SupervisionPolicy::stop(size_t index) {
  Actions out;
  auto& child = children_[index];
  if (ending_ || child.state == ChildState::kStopping || child.state == ChildState::kStopped)
    return refused(child.rules, child.state, "stop");
  child.due = false;
  if (isAlive(child.state)) {
    ask(index, Then::kStop, out);
    return out;
  }
  child.state = ChildState::kStopped;
  startDue(out);
  return out;
}

}  // namespace troupe::supervisors
