#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"
#include "test/simulation/data_sessions.hpp"
#include "test/simulation/sim_node.hpp"
#include "test/simulation/work_floor.hpp"

namespace troupe::sim {

inline constexpr const char* kServiceWritesHold = "writes of services that are not carried out once";

/// Writes by which services of the nodes themselves change the set's data, whichever node leads (RetryableRuns). Each
/// increments a document of its own in test.services, so that one that was carried out twice, and an acknowledged one
/// that is not there, are seen. A service dies with its node: nobody knows what becomes of its write.
class ServiceWrites {
 public:
  static constexpr const char* kCollection = "services";

  /// `ended`: a write was answered; "" if it was done, else the name of the error. Outlives the writes.
  explicit ServiceWrites(std::function<void(const std::string& refused)> ended) { state_->ended = std::move(ended); }

  /// Begins one on a node that lives. `torn`: it is done twice, for tests of the check.
  void begin(NodeLife& life, bool torn);
  bool isQuiet() const { return state_.use_count() == 1; }
  /// In the end: whether all answers were right, and enough of what was begun was acknowledged.
  void check(const WorkFloor& floor, const DataSessions::Broken& broken) const;
  /// What was acknowledged and the documents of test.services contradict; empty if nothing does.
  std::string compare(const std::vector<bson::Document>& found) const;

 private:
  /// Shared with the writes, which are dropped with their nodes.
  struct State {
    std::map<int64_t, bool> begun;  ///< those that were begun, and whether each has been acknowledged
    uint64_t acknowledged = 0;
    std::function<void(const std::string&)> ended;
    std::string broken;
  };
  struct Asked {
    int64_t id = 0;
    TimePoint until;
    bool torn = false;
  };
  static Task<void> write(server::RetryableRuns& runs, Asked asked, std::shared_ptr<State> state);

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace troupe::sim
