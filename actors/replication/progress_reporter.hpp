#pragma once
#include <functional>
#include <map>
#include <string>

#include "actors/kernel/actor.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "state_machines/replication/position_messages.hpp"

namespace troupe::replication {

/// Path of the reporter on every member.
inline constexpr const char* kProgressPath = "/node/replication/progress";

/// Tells the reporter that the member fetches from another one now: it reports there, and lets the others know.
struct SourceChosen {};

/// Carries positions up and the commit point down (REP-048 to 051). A member reports to its source when it has moved,
/// one report at a time, so that a slow link carries the newest values only, and at least every half election timeout.
/// What is applied waits for the journal's flush a little, so that one report tells of both. What members below report
/// goes on to the own source. The commit point goes to the members below as soon as it moves, or, where it moves all
/// the time, once the answers to their reports have had time to bring it; and from a primary to all members with each
/// of its heartbeats. The topology hears of what is applied.
class ProgressReporter final : public Actor {
 public:
  /// All that is referred to outlives the actor.
  struct Parts {
    ReplicationProgress& progress;
    const Membership& membership;
    std::function<NodeName()> source;  ///< that this member fetches from; empty: none
    std::function<void(AppliedAdvanced)> tellTopology;
    std::function<void(MemberAdvanced)> tellOfMember;  ///< while the topology waits for others
    std::function<void(MembersHeard)> tellOfLife;      ///< of those that reports list (REP-050)
    std::function<void(TermHeard)> tellOfTerm;         ///< a later one than the topology is in
  };

  explicit ProgressReporter(Parts parts) : parts_(std::move(parts)) {}
  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  /// A time of this member has moved.
  struct Moved {};

  void moved();
  void reportMove(const ReplicationProgress::Times& before);
  bool countsWhatIsApplied() const;
  void watchProgress();
  void watchAll();
  void timeFlush(bool isAhead, bool isFlushed);
  void reportInTime();
  void tellTopology();
  void report();
  Task<void> reportWhileMoving();
  PositionReport makeReport();
  int32_t distanceOf(const NodeName& host) const;
  void take(const PositionReport& report, Context& context);
  void take(const CommitPointNews& news);
  void noteLife(const PositionReport& report);
  void tellBelow();
  void tellBelowInTime();
  void tellAll();
  CommitPointNews news() const;
  Status checkOrigin(const NodeName& from, const ReplicaSetId& set, const ConfigVersion& config) const;
  Duration electionTimeout() const;
  void keepAlive();

  const Parts parts_;
  ReplicationProgress::Times seen_;
  ReplicationProgress::WaiterId waiter_ = 0;
  Position reported_;     ///< the own one, by the newest report
  int64_t toldTerm_ = 0;  ///< the topology
  OpTime told_;
  AppliedAdvanced toldTopology_;
  NodeName reportingTo_;   ///< the source that a report is under way to; empty: none is
  uint64_t reporter_ = 0;  ///< whose turn it is to report: another source begins another one
  bool again_ = false;
  bool topologyTimer_ = false, reportTimer_ = false, pointTimer_ = false;
  bool watchesAll_ = true;               ///< moves of all its times
  std::optional<TimePoint> aheadSince_;  ///< what is applied is ahead of what is durable
  bool isFlushSlow_ = true;              ///< the last one was, as far as is known
  TimePoint toldTopologyAt_{}, reportedAt_{}, toldBelowAt_{};
  /// A member that reports to this one, or to one that does.
  struct Below {
    TimePoint reportedAt{};
    TimePoint livedAt{};   ///< it was alive then, as far as is known
    int32_t distance = 0;  ///< over how many others that was heard of
    TimePoint toldAt{};    ///< the topology
    OpTime toldPoint;      ///< the commit point that its last report was answered with
  };
  std::map<NodeName, Below> below_;
  int64_t reports_ = 0, failedReports_ = 0, received_ = 0;
};

}  // namespace troupe::replication
