#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "messaging/clock/op_time.hpp"
#include "messaging/clock/time_point.hpp"
#include "state_machines/replication/positions.hpp"
#include "state_machines/replication/replica_set_config.hpp"

/// How fast a primary may write, so that a majority of its set can follow (LCK-015 to LCK-020): pure rules. The actor
/// around them is actors/replication/flow_control.hpp, the tickets are storage/admission/flow_tickets.hpp.
namespace troupe::replication {

/// Server parameters of the same names (flowControl...).
struct FlowControlSettings {
  bool enabled = true;  ///< enableFlowControl
  double targetLagSeconds = 10;
  double thresholdLagPercentage = 0.5;  ///< a share of the target: from this lag on the primary is held back
  int64_t minTicketsPerSecond = 100;
  int64_t ticketAdderConstant = 500;
  double ticketMultiplierConstant = 1.05;
  double decayConstant = 0.5;
  double fudgeFactor = 0.95;
  size_t maxSamples = 1'000'000;

  double thresholdSeconds() const { return targetLagSeconds * thresholdLagPercentage; }
};

/// Where the log ended at one moment: a point between entries to which times and counts are known.
struct WriteSample {
  bson::Timestamp time;    ///< of the newest entry
  TimePoint since, until;  ///< when it was found to be the newest, the first time and the last
  int64_t operations = 0;  ///< entries since the start of the node, with this one
};

/// The recent past of the log, in growing times: tells how many entries lie between two members, and how long ago
/// something was the newest entry. A value.
class WriteSamples {
 public:
  /// Later samples are forgotten when the time goes back (a rollback). From `most` samples on every other one is
  /// forgotten: what remains is coarser, and reaches back as far.
  void add(bson::Timestamp time, TimePoint now, int64_t operations, size_t most);
  /// Everything that only entries before `time` need.
  void forgetBefore(bson::Timestamp time);

  /// Entries up to `time`, counted as WriteSample::operations are. Exact at samples; between two the increments of
  /// times count, which each second begins with 1.
  int64_t operationsUpTo(bson::Timestamp time) const;
  /// How much longer the newest entry has been there than what follows `committed`, at least: the lag of a majority
  /// that has everything up to there. Zero when that is all.
  Duration lagOf(bson::Timestamp committed) const;
  size_t size() const { return samples_.size(); }

 private:
  /// The newest sample that is not later than `time`, or else the oldest one; the end when there is none.
  std::deque<WriteSample>::const_iterator at(bson::Timestamp time) const;
  std::deque<WriteSample> samples_;
};

/// The member that holds the commit point where it is: of the voters with data the last one of the best majority. Empty
/// when there is no majority. Equal ones: the first of the config.
NodeName sustainerOf(const ReplicaSetConfig& config, const Positions& positions);

/// LCK-017. `operations`: that the sustainer has applied in the last second.
int64_t ticketsWhileLagged(const FlowControlSettings& settings, double lagSeconds, double operations,
                           double locksPerOperation);
/// LCK-018.
int64_t ticketsWhileKeepingUp(const FlowControlSettings& settings, int64_t previous);

/// What the rule decided last, and what it decided that by.
struct FlowDecision {
  int64_t tickets = 0;  ///< of the next second
  bool isLagged = false;
  Duration lag{};
  NodeName sustainer;            ///< empty: none
  double sustainerRate = 0;      ///< entries a second that it has applied
  double locksPerOperation = 1;  ///< global locks in mode IX for each entry
  // Since the start of the node.
  int64_t timesLagged = 0;
  Duration timeLagged{};
};

/// What the rule looks at, once a second.
struct FlowInput {
  TimePoint now{};
  bool mayWrite = false;  ///< this node is the primary and takes writes
  const ReplicaSetConfig& config;
  const Positions& positions;  ///< this node's own included
  OpTime commitPoint;
  int64_t operations = 0;  ///< entries of the own log, and tickets taken, since the start of the node
  int64_t locks = 0;
};

/// Decides how many tickets of flow control each second has. Remembers the last look only.
class FlowRule {
 public:
  /// Nothing is held back (LCK-019).
  static constexpr int64_t kUnlimited = 1'000'000'000;

  /// `samples` have the newest entry of the own log.
  const FlowDecision& decide(const FlowControlSettings& settings, const FlowInput& input, const WriteSamples& samples);
  const FlowDecision& last() const { return last_; }

 private:
  /// Nothing when it is not known from where the sustainer came.
  std::optional<double> rateOf(const NodeName& sustainer, const FlowInput& input, const WriteSamples& samples) const;
  void measureLocks(const FlowInput& input);
  int64_t ticketsFor(const FlowControlSettings& settings, bool applies, std::optional<double> rate) const;

  FlowDecision last_{.tickets = kUnlimited};
  bool hasLooked_ = false;
  TimePoint looked_{};
  int64_t operations_ = 0, locks_ = 0;
  Positions positions_;
};

}  // namespace troupe::replication
