#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/machine_host.hpp"
#include "state_machines/core/world.hpp"
#include "test/lease/lease.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {

/// Named leases that nodes hand to each other: on each node two supervised primary-only services, one with an instance
/// for each hand-off that it coordinates, one with an instance for each lease that it holds or may hold. Documents lie
/// in collections. There is no replication: each node is the primary of its own documents.
class LeaseService final : public Subject {
 public:
  static const std::vector<std::string>& invariantNames();

  explicit LeaseService(const Scenario& scenario);

  void configure(const std::string& node, supervisors::AssemblyOptions& options) override;
  void started(NodeLife& life) override;
  void died(const std::string& node) override;
  std::pair<std::string, int64_t> roleOf(const std::string& node) override;
  void watch(Simulation& cluster) override;
  std::unique_ptr<Workload> workload(Simulation& cluster, uint64_t seed) override;
  void calm(Simulation& cluster) override;
  std::string whyNotConverged() override;
  int64_t progress() const override { return ended_; }

  // For the workload.
  /// Who uses the lease; "" if nobody does just now.
  std::string holderOf(const std::string& lease) const;
  /// Whether nothing is left of a hand-off that was asked of that node: it has come to its end, or never began.
  bool isOver(const std::string& node, const std::string& handoff) const;
  const std::vector<std::string>& leases() const { return leases_; }

 private:
  /// What was seen of an instance, in all of its lives.
  struct SeenHandoff {
    lease::Handoff::Phase phase = lease::Handoff::Phase::kOffering;
    bool ended = false;
  };
  struct SeenHolder {
    lease::Holder::Phase phase = lease::Holder::Phase::kFree;
    int64_t epoch = 0;
  };
  struct Member {
    NodeLife* life = nullptr;  ///< null: dead
    std::map<std::string, SeenHandoff> handoffs;
    std::map<std::string, SeenHolder> holders;
  };

  void observe(const std::string& node, const machines::Snapshot<lease::Handoff>& now, bool finished);
  void observe(const std::string& node, const machines::Snapshot<lease::Holder>& now);
  void breakIt(const char* invariant, const std::string& detail);
  std::string whyNotAtRest(const std::string& node, const Member& member) const;

  const Scenario& scenario_;
  std::vector<std::string> leases_;
  std::map<std::string, Member> members_;
  Simulation* cluster_ = nullptr;
  int64_t ended_ = 0;
};

}  // namespace troupe::sim
