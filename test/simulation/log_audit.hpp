#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
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

  /// How what a node holds differs from what the entries of its log, in their order, make of an empty collection; or
  /// why they cannot be replayed. Empty: they give it.
  static std::string difference(const std::string& node, const std::vector<bson::Document>& entries,
                                const std::vector<bson::Document>& held);

 private:
  using Documents = std::vector<bson::Document>;

  Task<void> audit(Driver* driver, std::string node);
  Task<StatusWith<Documents>> documentsOf(Driver* driver, std::string database, bson::Document find);

  Simulation& cluster_;
  const std::function<void(const std::string&)> broken_;
  Node& machine_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  size_t left_;
};

}  // namespace troupe::sim
