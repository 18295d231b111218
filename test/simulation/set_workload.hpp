#pragma once
#include <algorithm>
#include <memory>
#include <string>

#include "test/simulation/member_reads.hpp"
#include "test/simulation/replica_set.hpp"
#include "test/simulation/set_data.hpp"
#include "test/simulation/work_floor.hpp"
#include "test/simulation/workload.hpp"

namespace troupe::sim {

/// What operators ask of the members of a replica set.
class SetWorkload final : public Workload {
 public:
  SetWorkload(const Scenario& scenario, Simulation& cluster, ReplicaSet& set, uint64_t seed)
      : Workload(scenario, cluster, seed), set_(set) {
    const auto resyncs = [](const WorkSpec& work) { return work.kind == WorkKind::kResyncs; };
    if (std::ranges::any_of(scenario.workloads, [](const WorkSpec& work) { return writesData(work.kind); }))
      makeData(scenario.topology.joiners > 0 || std::ranges::any_of(scenario.workloads, resyncs));
  }

  /// Initiates the set, and waits for its first primary and until all members have data.
  bool prepare(Duration atMost) override;
  /// Empty when what it has asked for is over and the data hold; see SetData.
  std::string whyNotDone();

 private:
  /// Whether members have to hold the same in the end.
  static bool writesData(WorkKind kind) {
    return kind == WorkKind::kDocuments || kind == WorkKind::kServiceWrites || isOfSessions(kind);
  }
  void makeData(bool membersJoin);
  void ask(const WorkSpec& work) override;
  void askForStepDown(const WorkSpec& work);
  void askForStepUp();
  void askForDocument(const WorkSpec& work);
  void askForRead();
  void askForServiceWrite(const WorkSpec& work);
  void askForReconfig();
  /// The next node without data becomes a member.
  void askForJoin();
  void askForJoinAgain();
  /// Empty: all have joined.
  std::string nextToJoin(const replication::ReplicaSetConfig& present) const;
  /// An operator has stale members copied anew; see ReplicaSet::mayBeCopiedAnew.
  void askForResync();
  void askForFreeze(const WorkSpec& work);
  replication::ReplicaSetConfig changed(replication::ReplicaSetConfig config);
  template <class Command>
  void send(const std::string& node, const char* name, Command command, std::shared_ptr<bool> answered = nullptr);

  ReplicaSet& set_;
  Duration nextJoin_{};                 ///< not earlier is a join asked for again
  Duration nextResync_{};               ///< likewise
  std::unique_ptr<SetData> data_;       ///< none: the scenario writes no data
  std::unique_ptr<MemberReads> reads_;  ///< none before the first is asked for
};

}  // namespace troupe::sim
