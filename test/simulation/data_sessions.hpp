#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/bank.hpp"
#include "test/simulation/counters.hpp"
#include "test/simulation/operations.hpp"
#include "test/simulation/scenario.hpp"
#include "test/simulation/schema_changes.hpp"
#include "test/simulation/simulation.hpp"
#include "test/simulation/work_floor.hpp"

namespace troupe::sim {

inline constexpr const char* kRegistersHold = "registers that are not linearizable";
inline constexpr const char* kSessionsHold = "sessions that do not see what their past holds";
inline constexpr const char* kListsHold = "lists that have no serial order";
inline constexpr const char* kWorkIsDone = "operations that are hardly ever done";

/// Sessions of drivers that read and write registers, lists and items, and record what they were told. A session has
/// one operation at a time; when it got no answer it goes on as another process, for nobody knows what became of the
/// last. For the tasks of one machine, which it does not outlive.
class DataSessions {
 public:
  using Broken = std::function<void(const char* invariant, const std::string& why)>;
  struct Hears {
    std::function<void(const std::string& refused)> ended;  ///< an operation; "" for one that was done
    Broken broken;
    bool mayLackHistory = false;  ///< members join: their logs begin later than writes that sessions may send again
  };
  DataSessions(Simulation& cluster, Node& machine, const Safety& safety, Hears hears);

  /// Begins an operation; false if the session that `chance` chooses has one.
  bool ask(const WorkSpec& work, uint64_t chance);
  bool isQuiet() const;
  const Items& items() const { return items_; }
  Counters& counters() { return counters_; }
  Bank& bank() { return bank_; }
  const SchemaChanges& schemaChanges() const { return schemaChanges_; }
  /// In the end: whether the histories hold, and whether enough was done.
  void check(const Scenario& scenario, const WorkFloor& floor) const;

 private:
  struct Session {
    std::unique_ptr<Driver> driver;
    std::unique_ptr<Driver> reader;   ///< of any member that serves reads
    std::unique_ptr<Driver> changer;  ///< of the primary, for changes of collections, which meet other errors
    int process = 0;
    size_t place = 0;  ///< among the sessions
    bool isBusy = false;
  };
  /// How often one kind of operation was begun, and done.
  struct Done {
    uint64_t asked = 0, done = 0;
  };

  void heard(const DriverReply& reply) const;
  Task<void> operate(Session* session, WorkSpec work, uint64_t chance);
  Task<checkers::Outcome> onRegister(Session* session, std::string* kind, WorkSpec work, uint64_t chance);
  Task<checkers::Outcome> onLists(Session* session, std::string* kind, uint64_t chance);
  Task<checkers::Outcome> onItems(Session* session, std::string* kind, uint64_t chance);
  Task<checkers::Outcome> onCounters(Session* session, std::string* kind, WorkSpec work, uint64_t chance);
  Task<checkers::Outcome> onSchema(Session* session, std::string* kind, uint64_t chance);
  Task<checkers::Outcome> onBank(Session* session, std::string* kind, WorkSpec work, uint64_t chance);
  void checkHistories() const;

  Simulation& cluster_;
  Node& machine_;
  const Hears hears_;
  std::vector<Session> sessions_;
  int lastProcess_ = 0;
  Registers registers_;
  Lists lists_;
  Items items_;
  Counters counters_;
  Bank bank_;
  SchemaChanges schemaChanges_;
  std::map<std::string, Done> done_;  ///< by kind of operation
};

}  // namespace troupe::sim
