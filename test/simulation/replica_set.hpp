#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/replication/replica_view.hpp"
#include "state_machines/core/world.hpp"
#include "test/simulation/document_ledger.hpp"
#include "test/simulation/log_audit.hpp"
#include "test/simulation/scenario.hpp"
#include "test/simulation/simulation.hpp"
#include "test/simulation/state_documents.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {

class SetWorkload;

/// The members of a replica set as a program of the simulator. Remembers what
/// each of them is, and checks what must be true of all of them after each turn of one.
class ReplicaSet final : public Subject {
 public:
  using Topology = replication::Topology;
  using Seen = machines::Snapshot<Topology>;

  static constexpr const char* kNothingForgotten = "a node that forgets its vote or its config";

  /// All that can be checked, by name. Besides, what was stated as a fact is never taken back.
  static const std::vector<std::string>& invariantNames();

  explicit ReplicaSet(const Scenario& scenario);
  /// Before the run: from now on turns are checked.
  void watch(Simulation& cluster) override;
  std::unique_ptr<Workload> workload(Simulation& cluster, uint64_t seed) override;
  int64_t progress() const override;
  std::map<std::string, uint64_t> states() const override { return states_; }
  void calm(Simulation& cluster) override;

  void configure(const std::string& node, supervisors::AssemblyOptions& options) override;
  void started(NodeLife& life) override;
  std::pair<std::string, int64_t> roleOf(const std::string& node) override;
  void died(const std::string& node) override;

  /// The first config of the set.
  replication::ReplicaSetConfig config(bool joined = false) const;
  const Seen& seen(const std::string& node) const { return members_.at(node).seen; }
  /// An invariant does not hold, if the scenario wants it to.
  void breakIt(const char* invariant, const std::string& why);
  StateDocuments& documents(const std::string& node) { return *members_.at(node).documents; }
  /// Of the state documents of all members.
  const DocumentLedger& ledger() const { return ledger_; }
  /// Living nodes that lead, or take writes.
  std::vector<std::string> leaders() const;
  std::vector<std::string> writable() const;
  /// Members in RECOVERING that may be copied anew: all others have the data of each on their disks. A copy made while
  /// another member lacks some of them could lose a write that a majority has acknowledged.
  std::vector<std::string> mayBeCopiedAnew() const;
  /// No member of the first config is copying data, or has yet to.
  bool haveData() const;
  /// Empty if the set has come together: one primary, of the highest priority; all others of its config follow it in
  /// its term and have its config. Else what is missing.
  std::string whyNotConverged() override;

 private:
  struct Member {
    const replication::Membership* membership = nullptr;         ///< of its present life
    const replication::ReplicationProgress* progress = nullptr;  ///< null when it is down
    std::unique_ptr<StateDocuments> documents;                   ///< of its present life, or the last
    Seen seen;                                                   ///< as of its last transition
    bool runs = false;                                           ///< its topology has resumed
  };

  void observe(const std::string& node, const Seen& now);
  void check(Simulation& cluster);
  std::string whyNotFollowing(const std::string& node, const std::string& primary) const;

  const Scenario& scenario_;
  DocumentLedger ledger_;
  std::map<std::string, Member> members_;
  std::vector<machines::Invariant> invariants_;
  machines::World world_;
  Simulation* cluster_ = nullptr;
  SetWorkload* workload_ = nullptr;  ///< the run's
  std::unique_ptr<LogAudit> logs_;   ///< of a scenario that writes documents, once all faults have ended
  machines::Facts* facts_ = nullptr;
  std::map<std::string, uint64_t> states_;  ///< how often each was come to
  bool moved_ = false, worldIsOld_ = true;
  std::string forgotten_;  ///< what a node knew, and no longer does
  std::string without_;    ///< a member that passes for a secondary and has no data
};

}  // namespace troupe::sim
