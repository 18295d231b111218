#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/audit.hpp"
#include "test/simulation/data_sessions.hpp"
#include "test/simulation/workload.hpp"

namespace troupe::sim {

inline constexpr const char* kContentsHold = "contents that differ from indexes, counts, or what was acknowledged";
inline constexpr const char* kRecoveryHolds = "contents that a crash has changed";

/// Sessions of drivers, on a machine of their own, at work on one node, whose contents are compared between and after
/// crashes.
class DataWorkload final : public Workload {
 public:
  /// `writes`: how many documents the node has written so far.
  DataWorkload(const Scenario& scenario, Simulation& cluster, uint64_t seed, std::function<uint64_t()> writes);

  /// Makes the collections and the index.
  bool prepare(Duration atMost) override;
  /// The node has recovered from a crash: its contents are compared before the next operation begins.
  void recovered();
  /// All faults have ended: a last audit, which crashes the node once more.
  void calm();
  /// Empty when no operation runs, the last audit is done, and the histories hold.
  std::string whyNotDone();

 private:
  /// A crash of the node by the audit itself.
  struct Crash {
    uint64_t writes;  ///< that the node had done when its contents were read
    bool isClean = false;
  };

  void ask(const WorkSpec& work) override;
  void heard(const DriverReply& reply);
  Task<void> makeCollections();
  /// Begins the audit that is due, if no operation runs.
  void auditWhenQuiet();
  Task<void> audit();
  /// One try. Errors: it was disturbed, by a fault or a write that came late.
  Task<Status> tryAudit();
  std::string compareCountBefore(const Findings& findings, bool countIsOld) const;
  /// Kills the node with nothing open, and compares what it holds then with what it held. Errors: likewise.
  Task<Status> crashAndCompare();
  void planCrash(const std::shared_ptr<Crash>& crash);
  bool isQuiet() const;
  void breakIt(const char* invariant, const std::string& detail);

  Node& machine_;
  const std::function<uint64_t()> writes_;
  DataSessions sessions_;
  Driver auditor_;
  bool auditing_ = false;
  bool prepared_ = false, auditWanted_ = false, crashWanted_ = false, historiesChecked_ = false;
  bool countsAreOld_ = false;  ///< the node has crashed since it last validated its collections
  uint64_t recoveries_ = 0;
  Duration nextAudit_ = std::chrono::seconds(4);
};

}  // namespace troupe::sim
