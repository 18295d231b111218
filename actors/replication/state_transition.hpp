#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::replication {

/// Gives and takes this member's right to write (ELE-028). Taking it does three things at once, before the new role is
/// published: it closes the fence, requests the state transition lock exclusively, ahead of all operations that come
/// later, and ends transactions that lie idle. An operation that has learnt of the new role therefore waits for its
/// lock until the old role has ended. The request is granted when the last operation of the old role has ended or
/// yielded; only with that lock held, and no unit left inside of the fence, may another term begin to write.
/// The rule for the rest: work that takes no such lock, such as fetching another member's log, awaits `untilOver`
/// first, since other members may hear of the new role earlier.
/// Made with make_shared; called by the topology actor, finishes on the pool.
class StateTransition : public std::enable_shared_from_this<StateTransition> {
 public:
  /// `services` need locks and the fence of the node; all of it outlives this.
  StateTransition(Node& node, storage::OperationServices services)
      : node_(node), services_(services), fence_(services.replicated->fence) {}

  /// From now on only units that are inside of the fence may commit replicated writes.
  void refuseWrites();
  /// After `refuseWrites`: completes when the units that were inside of the fence have ended. Their operations, and
  /// those that write nothing, may go on.
  Task<void> untilWritesEnded();
  /// Writes of that term are welcome: at once, or when the transition that refused them is over.
  void acceptWrites(int64_t term);
  /// The topology expects this node to write in that term once it has drained; what refuses writes ends that.
  void expect(int64_t term);
  /// `acceptWrites` if that term is still expected. False: the node has ceased to lead in it.
  bool acceptExpected(int64_t term);
  /// A transition is under way: operations of the old role have not all ended.
  bool isUnderWay() const;
  /// Completes when no transition is under way.
  Task<void> untilOver();

 private:
  void acceptLocked(int64_t term);
  std::optional<Future<troupe::Done>> awaitEnd();
  /// Holds, or waits for, the state transition lock of one change.
  struct Exclusive;
  static Task<void> finish(std::shared_ptr<StateTransition> self, std::unique_ptr<Exclusive> exclusive);

  Node& node_;
  const storage::OperationServices services_;
  storage::WriteFence& fence_;
  mutable std::mutex mutex_;
  bool underWay_ = false;
  std::vector<Promise<troupe::Done>> awaitingEnd_;
  std::optional<int64_t> expected_;  ///< the term in which this node is about to write
  std::optional<int64_t> next_;      ///< the term that is to write when the transition is over
};

}  // namespace troupe::replication
