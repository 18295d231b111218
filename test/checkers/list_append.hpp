#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "test/checkers/history.hpp"

namespace troupe::checkers {

/// One step of a transaction on lists: appends a number to the list of a key, or reads the list. Each number is
/// appended to a key at most once in a history.
struct ListStep {
  bool isAppend = false;
  std::string key;
  int64_t value = 0;              ///< append
  std::vector<int64_t> contents;  ///< read: what it saw

  static ListStep append(std::string key, int64_t value) { return {true, std::move(key), value, {}}; }
  static ListStep read(std::string key, std::vector<int64_t> contents = {}) {
    return {false, std::move(key), 0, std::move(contents)};
  }
};

/// A transaction; an operation on one document is one of one step.
struct ListTransaction {
  std::vector<ListStep> steps;
  std::string toString() const;
};

/// What a history is to be free of.
enum class Isolation {
  kReadCommitted,       ///< no dirty, intermediate, lost, or circular reads and writes (G0, G1a, G1b, G1c)
  kSnapshot,            ///< nor lost updates and other cycles with one anti-dependency (G-single)
  kSerializable,        ///< nor write skew and other cycles of anti-dependencies (G2)
  kStrictSerializable,  ///< and what ended before something else began is before it
};

/// Looks for what contradicts the isolation. Lists tell in which order their elements were appended, and so, which
/// transaction saw, followed or preceded which; a cycle of such dependencies has no serial order. Below strict
/// serializability only reads and writes make dependencies; with it real time does as well, which finds acknowledged
/// appends that are lost. The verdict names the anomaly and shows the cycle with what each transaction did, and why it
/// has to be before the next.
Verdict checkListAppend(const History<ListTransaction>& history, Isolation isolation);

}  // namespace troupe::checkers
