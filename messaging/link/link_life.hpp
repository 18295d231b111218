#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "messaging/envelope/envelope.hpp"
#include "messaging/link/rejection.hpp"

namespace troupe::link {

/// The phase of a link.
enum class Phase { kWaiting, kConnecting, kAuthenticating, kOpen };

/// Name and meaning of a phase, for operators; static texts.
struct PhaseText {
  const char* name;
  const char* meaning;
};
PhaseText phaseText(Phase phase);

/// The times of a link.
struct LinkTimes {
  Duration connect = std::chrono::seconds(5);           ///< to a connection
  Duration handshake = std::chrono::seconds(5);         ///< from the connection to its being open
  Duration heartbeat = std::chrono::seconds(1);         ///< between two heartbeats
  Duration idle = std::chrono::seconds(10);             ///< without a byte from the other side: it is lost
  Duration firstPause = std::chrono::milliseconds(50);  ///< before the first try again; doubled with each failure
  Duration longestPause = std::chrono::seconds(2);
};

/// The life of a link that this node opens, as decisions: the clock and chance are given, what is to be done is
/// returned. The actor around it owns the connection and does it.
///
///   connecting ─▶ authenticating ─▶ open
///       ▲               │            │
///       └── waiting ◀───┴────────────┘   a pause that doubles from failure to failure, with jitter
class LinkLife {
 public:
  /// The actions to take now. Several may be set; `lost` comes first.
  struct Actions {
    bool lost = false;     ///< close the connection, fail asks under way and queued messages
    bool connect = false;  ///< begin to connect
    bool opened = false;   ///< let messages flow
    bool beat = false;     ///< send a heartbeat
    std::string why = {};  ///< of `lost`, for people
    std::optional<Rejection> counted =
        {};  ///< of `lost`: the reason it counts under, if it was this side that ended it
  };

  explicit LinkLife(LinkTimes times) : times_(times) {}

  Actions start(TimePoint now);
  Actions connected(TimePoint now);
  Actions authenticated(TimePoint now);
  /// The connection failed or ended, or a frame was rejected. `chance` in [0, 1) spreads the pause.
  Actions lost(TimePoint now, std::string why, double chance);
  /// Bytes have come from the other side.
  void heard(TimePoint now) { heardAt_ = now; }
  /// The other node has shown that it lives: a pause ends.
  Actions peerLives(TimePoint now);
  /// Time has passed; call at `due()` at the latest.
  Actions tick(TimePoint now, double chance);
  /// When the next thing is to be done of its own accord.
  TimePoint due() const;

  Phase phase() const { return phase_; }
  /// Failures since it was open last.
  int failures() const { return failures_; }

 private:
  Actions connect(TimePoint now);
  Actions loseTo(TimePoint now, Rejection reason, std::string why, double chance);
  LinkTimes times_;
  Phase phase_ = Phase::kWaiting;
  int failures_ = 0;
  TimePoint until_;  ///< of the phase, unless open
  TimePoint heardAt_, beatAt_;
};

}  // namespace troupe::link
