#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"

namespace troupe::sim {

/// Writes of state documents {_id, n} by the members of a replica set: when each was committed, and which of them a
/// majority has acknowledged. Each write has a value `n` of its own, so that a document tells which write made it. An
/// acknowledged write may only be followed by a later one: of the same term, or of a later term.
class DocumentLedger {
 public:
  /// By document (`_id`): a write at that time, or a later one, has to be shown.
  using Times = std::map<int64_t, OpTime>;

  int64_t newValue() { return ++lastValue_; }
  /// A write that is to reach a majority was handed over to a primary.
  void begun() { ++begun_; }
  /// By a primary, which may lose it again.
  void committed(int64_t id, int64_t value, const OpTime& at);
  /// The write of that value has reached a majority: no failover takes it back.
  void acknowledged(int64_t value);

  /// The last acknowledged write of each document, of those that `counts` says yes to.
  Times newestAcknowledged(const std::function<bool(const OpTime&)>& counts) const;
  Times newestAcknowledged() const;
  /// What is wrong with documents that were read: a value that was never committed, or an older write than `least`
  /// says. Empty: nothing.
  std::string shown(const std::vector<bson::Document>& found, const Times& least) const;
  /// The same in the end. Also when a write was acknowledged that was never committed.
  std::string left(const std::vector<bson::Document>& found, const Times& least) const;

  uint64_t countBegun() const { return begun_; }
  uint64_t countAcknowledged() const { return acknowledgedWrites_; }

 private:
  struct Commit {
    int64_t id = 0;
    OpTime at;
  };

  int64_t lastValue_ = 0;
  uint64_t begun_ = 0, acknowledgedWrites_ = 0;
  std::map<int64_t, Commit> commits_;                 ///< by value
  std::map<int64_t, std::set<OpTime>> acknowledged_;  ///< by document
  std::string broken_;
};

}  // namespace troupe::sim
