#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "test/checkers/comparison.hpp"
#include "test/simulation/data_sessions.hpp"
#include "test/simulation/document_ledger.hpp"
#include "test/simulation/service_writes.hpp"

namespace troupe::sim {

/// Sessions of drivers that write to the primary of a replica set, acknowledged by a majority, and read what a majority
/// has. In the end, once nobody writes any more, all members have to hold the same documents in the same collections,
/// state documents among them, none that was acknowledged may lack, and each member's counts and indexes have to agree
/// with its documents.
class SetData {
 public:
  static constexpr const char* kSameEverywhere = "members that hold different data";
  static constexpr const char* kNothingLost = "acknowledged data that are lost";
  static constexpr const char* kMembersAgree = "a member whose counts or indexes differ from its documents";

  /// All that is referred to outlives it.
  SetData(Simulation& cluster, const DocumentLedger& documents, DataSessions::Hears hears);

  /// Makes the collections that are not there; true once all are.
  bool isReady();
  /// Begins an operation; false if the session that `chance` chooses has one.
  bool ask(const WorkSpec& work, uint64_t chance) { return sessions_.ask(work, chance); }
  /// Begins a write by a service of that node.
  void writeAsService(NodeLife& life, bool torn) { services_.begin(life, torn); }
  /// Empty when no operation runs, all members hold the same, and the histories hold; to be asked again and again.
  std::string whyNotDone(const Scenario& scenario);

 private:
  Task<void> makeCollections();
  Task<void> compareMembers();
  /// Of members that hold the same documents. What differs between them, or why one was not audited; empty: nothing.
  Task<std::string> auditMembers();
  void checkWork(const Scenario& scenario) const;
  /// What was acknowledged and the documents of all members contradict; empty if nothing does.
  std::string lostOf(checkers::Contents& contents);
  Task<StatusWith<checkers::Contents>> contentsOf(Driver* driver);

  Simulation& cluster_;
  Node& machine_;
  const DocumentLedger& documents_;
  const DataSessions::Hears hears_;
  DataSessions sessions_;
  ServiceWrites services_;
  std::unique_ptr<Driver> anyPrimary_;
  std::vector<std::unique_ptr<Driver>> members_;  ///< one for each node
  bool making_ = false, made_ = false, comparing_ = false, same_ = false, checked_ = false;
  checkers::Contents holds_;  ///< what the members' last audit has found on one of them, as on all
  std::string difference_;    ///< the last one that was found: members may still be catching up
};

}  // namespace troupe::sim
