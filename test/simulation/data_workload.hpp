#pragma once
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/operations.hpp"
#include "test/simulation/workload.hpp"

namespace troupe::sim {

inline constexpr const char* kRegistersHold = "registers that are not linearizable";
inline constexpr const char* kListsHold = "lists that have no serial order";
inline constexpr const char* kContentsHold = "contents that differ from indexes, counts, or what was acknowledged";

/// Sessions of drivers on a machine of their own. A session has one operation at a time; when it got no answer it goes
/// on as another process, for nobody knows what became of the last.
class DataWorkload final : public Workload {
 public:
  DataWorkload(const Scenario& scenario, Simulation& cluster, uint64_t seed);

  /// Makes the index.
  bool prepare(Duration atMost) override;
  /// The contents are compared before the next operation begins.
  void wantAudit() { auditWanted_ = true; }
  /// Empty when no operation runs, the last audit is done, and the histories hold.
  std::string whyNotDone();

 private:
  struct Session {
    std::unique_ptr<Driver> driver;
    int process;
    bool isBusy = false;
  };

  void ask(const WorkSpec& work) override;
  Task<void> operate(Session* session, WorkSpec work, uint64_t chance);
  Task<checkers::Outcome> onRegister(Session* session, WorkSpec work, uint64_t chance);
  Task<checkers::Outcome> onLists(Session* session, uint64_t chance);
  Task<void> prepareIndex();
  /// Begins the audit that is due, if no operation runs.
  void auditWhenQuiet();
  Task<void> audit();
  bool isQuiet() const;
  void breakIt(const char* invariant, const std::string& detail);

  Node& machine_;
  std::vector<Session> sessions_;
  Session auditor_;
  int lastProcess_ = 0;
  Registers registers_;
  Lists lists_;
  Items items_;
  bool prepared_ = false, auditWanted_ = false, historiesChecked_ = false;
};

}  // namespace troupe::sim
