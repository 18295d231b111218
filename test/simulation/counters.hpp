#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/simulation/counter_model.hpp"
#include "test/simulation/driver.hpp"
#include "test/simulation/operations.hpp"

namespace troupe::sim {

inline constexpr const char* kCountersHold = "counters that are not exact";

/// Counters are documents {_id, n, by, at} of test.counters, or of test.recorded, which records the document before
/// each change; one that is missing stands at 0. Each is changed by one session, which therefore knows what it may
/// hold: an increment is carried out once however often it is sent, and a findAndModify answers with its own document,
/// also when it is answered again by a later primary. What was acknowledged is never refused. All sessions read
/// committed data of all counters, from the primary and from any member: nothing that is rolled back, and nothing older
/// than what was acknowledged before, where the read says so or stays on one connection.
class Counters {
 public:
  enum class Kind { kAdd, kAddAndTellBefore, kAddAndTellAfter, kTake, kReadOfPrimary, kReadOfMember };
  static constexpr std::array<const char*, 6> kKinds{"increments",
                                                     "increments that tell the document before",
                                                     "increments that tell the document after",
                                                     "removals of a counter",
                                                     "majority reads of a counter from the primary",
                                                     "majority reads of a counter from a member"};
  static constexpr std::array<const char*, 2> kCollections{"counters", "recorded"};

  /// One session's way to its servers.
  struct Drivers {
    Driver& primary;
    Driver& anyMember;
  };
  /// What is done wrong, for tests of the checks: a write is carried out twice, a read is no majority read.
  struct Wrong {
    bool torn = false, dirty = false;
  };

  /// `mayLackHistory`: members join, whose logs begin later than writes that are sent again.
  Counters(size_t sessions, Safety safety, bool mayLackHistory = false)
      : sessions_(sessions), safety_(std::move(safety)), mayLackHistory_(mayLackHistory) {}
  /// Carries out one operation of a session, which outlives it.
  Task<checkers::Outcome> run(Drivers drivers, size_t session, Kind kind, uint64_t chance, Wrong wrong);

  /// What an answer has contradicted; empty: none has.
  const std::string& broken() const { return broken_; }
  /// What the documents of a collection contradict; empty if they do not.
  std::string compare(const std::string& collection, const std::vector<bson::Document>& found);

 private:
  using Connection = std::pair<const Driver*, uint64_t>;
  struct Counter {
    CounterModel model;
    int64_t acknowledged = 0;  ///< the last operation that was
    Connection by;             ///< on which it was
    int64_t known = 0;         ///< the last operation that every read has to show that comes after `times`
    bson::Document times;      ///< {operationTime, $clusterTime}
  };
  struct Asked {
    std::string collection, id;
    Kind kind{};
    int64_t number = 0;  ///< of the operation
  };

  static bson::Document commandFor(const Asked& asked, const std::string& concern);
  Task<checkers::Outcome> write(Driver& driver, Asked asked, uint64_t chance, bool torn);
  Task<checkers::Outcome> read(Driver& driver, Asked asked, bool afterKnown, bool dirty);
  Task<void> repeat(Driver& driver, Asked asked, bson::Document first, Duration pause);
  /// What the answer tells of the counter.
  void learn(const Asked& asked, const Driver& driver, const DriverReply& reply);
  /// Whether the answer to one of the attempts agrees with those to the attempts before it.
  bool isExcused(const DriverReply& refusal) const;
  void checkAttempts(const Asked& asked, const DriverReply& reply);
  void complain(const Asked& asked, const std::string& why);
  Counter& counterOf(const Asked& asked) { return counters_[asked.collection][asked.id]; }

  const size_t sessions_;
  const Safety safety_;
  const bool mayLackHistory_;
  std::map<std::string, std::map<std::string, Counter>> counters_;  ///< by collection and _id
  std::set<std::pair<std::string, std::string>> changing_;          ///< those of which an operation has no answer yet
  int64_t lastNumber_ = 0;
  std::string broken_;
};

}  // namespace troupe::sim
