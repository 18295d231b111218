#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "test/checkers/comparison.hpp"
#include "test/simulation/driver.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::sim {

/// Compares, over the wire and once nothing is written any more, what each member of a replica set holds of the state
/// documents with what its own log tells: the log, replayed, has to give the collection.
class LogAudit {
 public:
  static constexpr const char* kInvariant = "a log that does not give the collection";

  /// Begins after a pause, in which late writes end. `broken` is told what differs. All that is referred to outlives
  /// it.
  LogAudit(Simulation& cluster, std::function<void(const std::string& why)> broken);

  bool isDone() const { return left_ == 0; }

 private:
  Task<void> audit(Driver* driver, std::string node);
  Task<StatusWith<checkers::Contents>> replay(Driver* driver);
  Task<StatusWith<checkers::Contents>> contents(Driver* driver);

  Simulation& cluster_;
  const std::function<void(const std::string&)> broken_;
  Node& machine_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  size_t left_;
};

}  // namespace troupe::sim
