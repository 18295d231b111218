#include "messaging/link/link_life.hpp"

#include <algorithm>

namespace troupe::link {

PhaseText phaseText(Phase phase) {
  switch (phase) {
    case Phase::kWaiting: return {"waiting", "the last try failed; the next follows after a pause"};
    case Phase::kConnecting: return {"connecting", "a connection to the other node is being opened"};
    case Phase::kAuthenticating: return {"authenticating", "both nodes prove that they belong to the cluster"};
    case Phase::kOpen: return {"open", "messages flow"};
  }
  return {"", ""};
}

LinkLife::Actions LinkLife::connect(TimePoint now) {
  phase_ = Phase::kConnecting;
  until_ = now + times_.connect;
  return {.connect = true};
}

LinkLife::Actions LinkLife::start(TimePoint now) { return connect(now); }

LinkLife::Actions LinkLife::connected(TimePoint now) {
  if (phase_ != Phase::kConnecting) return {};
  phase_ = Phase::kAuthenticating;
  until_ = now + times_.handshake;
  return {};
}

LinkLife::Actions LinkLife::authenticated(TimePoint now) {
  if (phase_ != Phase::kAuthenticating) return {};
  phase_ = Phase::kOpen;
  failures_ = 0;
  heardAt_ = now;
  beatAt_ = now + times_.heartbeat;
  return {.opened = true, .beat = true};  // the first heartbeat measures the way at once
}

LinkLife::Actions LinkLife::lost(TimePoint now, std::string why, double chance) {
  if (phase_ == Phase::kWaiting) return {};
  auto pause = times_.firstPause;
  for (int i = 0; i < failures_ && pause < times_.longestPause; ++i) pause *= 2;
  pause = std::min(pause, times_.longestPause);
  // Half of it at least; the rest is chance, so that many nodes do not come back at once.
  pause = pause / 2 + std::chrono::duration_cast<Duration>(pause / 2 * chance);
  ++failures_;
  phase_ = Phase::kWaiting;
  until_ = now + pause;
  return {.lost = true, .why = std::move(why)};
}

LinkLife::Actions LinkLife::loseTo(TimePoint now, Rejection reason, std::string why, double chance) {
  Actions actions = lost(now, std::move(why), chance);
  actions.counted = reason;
  return actions;
}

LinkLife::Actions LinkLife::peerLives(TimePoint now) { return phase_ == Phase::kWaiting ? connect(now) : Actions{}; }

LinkLife::Actions LinkLife::tick(TimePoint now, double chance) {
  if (now < due()) return {};
  switch (phase_) {
    case Phase::kWaiting: return connect(now);
    case Phase::kConnecting: return lost(now, "no connection in time", chance);
    case Phase::kAuthenticating:
      return loseTo(now, Rejection::kSlow, "the other node did not finish the handshake in time", chance);
    case Phase::kOpen: break;
  }
  if (now >= heardAt_ + times_.idle)
    return loseTo(now, Rejection::kSilent, "nothing was heard of the other node for too long", chance);
  if (now < beatAt_) return {};
  beatAt_ = now + times_.heartbeat;
  return {.beat = true};
}

TimePoint LinkLife::due() const { return phase_ == Phase::kOpen ? std::min(beatAt_, heardAt_ + times_.idle) : until_; }

}  // namespace troupe::link
