#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "test/simulation/driver.hpp"
#include "test/simulation/replica_set.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// Sessions of drivers that read what services of a replica set have written: half of them from the primary, half from
/// any member. One that takes writes all the while has to show what it had committed when the read began, or something
/// later (what members hold in the end is compared by SetData); through changes of roles, crashes and broken
/// connections drivers only get answers that those explain.
class MemberReads {
 public:
  static constexpr const char* kInvariant = "a member that does not show what it has written";

  /// `refused`: the name of the error, "" for a read that was answered. `broken`: an invariant, and what breaks it. All
  /// that is referred to outlives it.
  MemberReads(Simulation& cluster, ReplicaSet& set, std::function<void(const std::string& refused)> ended,
              std::function<void(const char* invariant, const std::string& why)> broken);

  /// Begins a read; false if the session that `chance` chooses has one.
  bool ask(uint64_t chance);

 private:
  struct Session {
    std::unique_ptr<Driver> driver;
    bool fromPrimary;
    bool isBusy = false;
  };
  /// How far the log of each member's present life had come, by key.
  struct Mark {
    std::shared_ptr<const StateDocuments::Log> log;
    int64_t term = 0;  ///< in which it took writes; 0: it did not
    std::map<int64_t, size_t> committed;
  };
  using Marks = std::map<std::string, Mark>;

  Task<void> read(Session* session);
  /// Of the member's present life; 0: it takes no writes.
  int64_t termOf(const std::string& node) const;
  Marks marks() const;
  void compare(const std::string& node, const Marks& before, bson::View reply) const;

  Simulation& cluster_;
  ReplicaSet& set_;
  const std::function<void(const std::string&)> ended_;
  const std::function<void(const char*, const std::string&)> broken_;
  Node& machine_;
  std::vector<Session> sessions_;
};

}  // namespace troupe::sim
