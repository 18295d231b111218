#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/simulation/driver.hpp"
#include "test/simulation/operations.hpp"

namespace troupe::sim {

inline constexpr const char* kCountersHold = "counters that are not exact";

/// Counters are documents {_id, n} of test.counters, or of test.recorded, which records the document before each
/// change; one that is missing stands at 0. Each is one session's, which therefore knows what it may hold: an increment
/// is carried out once however often it is sent, and a findAndModify answers with its own document, also when it is
/// answered again by a later primary.
class Counters {
 public:
  enum class Kind { kAdd, kAddAndTellBefore, kAddAndTellAfter, kTake };
  static constexpr std::array<const char*, 4> kKinds{"increments", "increments that tell the document before",
                                                     "increments that tell the document after",
                                                     "removals of a counter"};
  static constexpr std::array<const char*, 2> kCollections{"counters", "recorded"};

  explicit Counters(Safety safety = Safety::ofNode()) : safety_(std::move(safety)) {}
  /// Carries out one operation of a session. `torn`: it is carried out twice, for tests of the checks.
  Task<checkers::Outcome> run(Driver& driver, size_t session, Kind kind, uint64_t chance, bool torn);

  /// What an answer has contradicted; empty: none has.
  const std::string& broken() const { return broken_; }
  /// What the documents of a collection contradict; empty if they do not.
  std::string compare(const std::string& collection, const std::vector<bson::Document>& found) const;

 private:
  using Values = std::set<int64_t>;
  struct Asked {
    std::string collection, id;
    Kind kind{};
  };

  static bson::Document commandFor(const Asked& asked, const std::string& concern);
  Task<checkers::Outcome> again(Driver& driver, Asked asked, bson::Document first);
  /// What the answer tells of the counter.
  void learn(const Asked& asked, const DriverReply& reply);
  void complain(const Asked& asked, const std::string& why);
  Values& valuesOf(const Asked& asked);

  const Safety safety_;
  std::map<std::string, std::map<std::string, Values>> values_;  ///< that each may have, by collection and _id
  std::string broken_;
};

}  // namespace troupe::sim
