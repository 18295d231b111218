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

/// Sessions of drivers that read what services of a replica set have written (StateDocuments), from the primary or from
/// any member. A read has to show, or something later:
/// - of a member that takes writes all the while: what it had committed before, and what a majority had acknowledged
///   before, up to its term;
/// - of any member, with read concern majority and after a time that an earlier one has told: what a majority had
///   acknowledged before, up to that time.
/// A local read of a secondary may be behind: it shows what was committed at some time. Through changes of roles,
/// crashes and broken connections drivers only get answers that those explain.
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
  enum class Kind { kPrimary, kNearest, kMajority };
  struct Session {
    std::unique_ptr<Driver> driver;
    Kind kind;
    bool isBusy = false;
  };
  /// How far each member that took writes had come.
  struct Mark {
    std::shared_ptr<const StateDocuments::Log> log;  ///< of its present life
    int64_t term = 0;                                ///< in which it took writes
    std::map<int64_t, size_t> committed;             ///< by key, in that term
    DocumentLedger::Times acknowledged;              ///< up to that term, by any primary
  };
  using Marks = std::map<std::string, Mark>;

  Task<void> read(Session* session);
  bson::Document findOf(Kind kind) const;
  /// What majorities had acknowledged up to the time after which majority reads are asked for.
  DocumentLedger::Times acknowledgedUpToKnown() const;
  void learnTimes(bson::View reply);
  /// Of the member's present life; 0: it takes no writes.
  int64_t termOf(const std::string& node) const;
  Marks marks() const;
  /// What is wrong with documents that a member shows which takes writes; empty: nothing.
  std::string compareWithOwn(const std::string& node, const Marks& before,
                             const std::vector<bson::Document>& found) const;

  Simulation& cluster_;
  ReplicaSet& set_;
  const std::function<void(const std::string&)> ended_;
  const std::function<void(const char*, const std::string&)> broken_;
  Node& machine_;
  std::vector<Session> sessions_;
  bson::Document times_;  ///< {operationTime, $clusterTime} that a majority read has told; empty before the first
};

}  // namespace troupe::sim
