#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "actors/environment/environment.hpp"
#include "actors/kernel/post_office.hpp"
#include "actors/replication/election_figures.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/replication/sync_status.hpp"
#include "messaging/bson/document.hpp"
#include "state_machines/replication/topology.hpp"
#include "storage/catalog/node_state.hpp"

namespace troupe::replication {

/// Path of the topology actor on every member.
inline constexpr const char* kTopologyPath = "/node/replication/topology";

/// When something was heard of another member, on this node's clocks. Only to be shown: the machine knows no time.
struct Contact {
  WallTime sentTo{}, receivedFrom{};
  WallTime upSince{};  ///< it was not heard of before
  Duration roundTrip{};
};

/// The node's place in its replica set at one moment: what `hello`, replSetGetStatus and the checks of commands
/// need of the topology. Immutable.
struct ReplicaView {
  Snapshot<Topology> topology;
  std::map<NodeName, Contact> contacts;
  ElectionFigures figures;

  MemberState state() const { return stateOf(topology); }
  bool isWritable() const { return replication::isWritable(topology); }
  NodeName primary() const { return primaryOf(topology); }
  const std::optional<ReplicaSetConfig>& config() const { return topology.document.config; }
};

/// A node's membership, for those outside of the topology actor. Thread-safe: a reader takes the present view with one
/// pointer copy. Reads compare its version around their set-up: it moves with the node's state, term and right to write
/// (RDS-004).
class Membership final : public storage::NodeState {
 public:
  Membership(std::string setName, NodeName self) : setName_(std::move(setName)), self_(std::move(self)) { publish({}); }

  const std::string& setName() const { return setName_; }
  const NodeName& self() const { return self_; }
  std::shared_ptr<const ReplicaView> view() const {
    const std::lock_guard lock(mutex_);
    return view_;
  }
  void publish(ReplicaView view) {
    auto next = std::make_shared<const ReplicaView>(std::move(view));
    const std::lock_guard lock(mutex_);
    appliesBatches_.store(!next->isWritable(), std::memory_order_release);
    if (!view_ || roleOf(*view_) != roleOf(*next)) version_.fetch_add(1, std::memory_order_acq_rel);
    view_ = std::move(next);
  }
  uint64_t version() const override { return version_.load(std::memory_order_acquire); }
  bool appliesBatches() const override { return appliesBatches_.load(std::memory_order_acquire); }
  /// The member it fetches from; empty: none (REP-001).
  NodeName syncSource() const {
    const std::lock_guard lock(mutex_);
    return syncSource_;
  }
  void setSyncSource(NodeName source) {
    const std::lock_guard lock(mutex_);
    syncSource_ = std::move(source);
  }
  /// How often this member's log was cut, as replSetGetRBID shows it (RBK-005).
  int64_t rollbackId() const { return rollbackId_.load(std::memory_order_acquire); }
  void setRollbackId(int64_t id) { rollbackId_.store(id, std::memory_order_release); }
  /// Of its initial sync, if there was one in this life (ISY-019).
  const std::shared_ptr<SyncStatus>& syncStatus() const { return syncStatus_; }

 private:
  static std::tuple<MemberState, bool, int64_t> roleOf(const ReplicaView& view) {
    return {view.state(), view.isWritable(), view.topology.memory.term};
  }

  const std::string setName_;
  const NodeName self_;
  mutable std::mutex mutex_;  ///< for a copy of a pointer or a name
  NodeName syncSource_;
  std::shared_ptr<const ReplicaView> view_;
  std::atomic<uint64_t> version_{0};
  std::atomic<bool> appliesBatches_{true};
  std::atomic<int64_t> rollbackId_{1};
  const std::shared_ptr<SyncStatus> syncStatus_ = std::make_shared<SyncStatus>();
};

/// Why there is no link to a member; empty: there is one, or nothing is known. Null: never known.
using LinkErrors = std::function<std::string(const NodeName&)>;

/// Why another member is not there, or takes part in nothing; empty: nothing is known against it.
std::string messageFor(const MemberView& member, const LinkErrors& linkErrors = {});

/// By how much this member applies the log later than it could: its secondaryDelaySecs. One that was removed from its
/// set stays as it is, and applies nothing more (Duration::max()): that is how the data of a delayed member are saved
/// from what is about to reach it.
Duration applyDelayOf(const ReplicaView& view);

/// Knows the primary of the member's own set, as the member does. `membership` outlives it.
PrimaryFinder primaryFinder(const Membership& membership);

/// The `electionId` of a term: later terms have greater ones.
bson::ObjectId electionIdOf(int64_t term);
/// The `electionTime` of a primary that was elected then.
inline bson::Timestamp electionTimeOf(bson::Date at) { return {static_cast<uint32_t>(at.millis / 1000), 1}; }
/// Fields of hello about the set (BOOT-005): setName, setVersion, hosts, primary, me, electionId and so on.
void appendHello(bson::Builder& reply, const Membership& membership, const ReplicaView& view,
                 const ReplicationProgress::Times& times, const EntryDates& dates, bool modern);
/// The config as replSetGetConfig replies with it.
bson::Document shownConfig(const ReplicaSetConfig& config);
/// replSetGetStatus.
void appendStatus(bson::Builder& reply, const Membership& membership, const ReplicaView& view,
                  const ReplicationProgress::Times& times, const EntryDates& dates, WallTime now, int64_t uptimeSecs,
                  const LinkErrors& linkErrors = {});

}  // namespace troupe::replication
