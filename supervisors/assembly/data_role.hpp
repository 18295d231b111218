#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "actors/replication/primary_progress.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/state_transition.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::supervisors {

/// The change of a member between the two ways in which its data grow: by another member's log, and by its own writes.
/// Carries out what the topology decides, one thing after the other: the last role's writes end before anything is
/// fetched, and nothing is fetched or left unapplied when a term's own writes begin. What is wanted later takes the
/// place of what has not begun. Made with make_shared; what it refers to outlives the topology actor. Any thread.
class DataRole : public std::enable_shared_from_this<DataRole> {
 public:
  /// `leavesLog`: called when all of the other member's log is applied, before the fence opens for this node's own
  /// writes: ends what was begun for entries that may never follow, now that this node decides.
  /// `failed`: ends the node: it could neither follow nor lead.
  DataRole(server::ServerContext& server, std::shared_ptr<replication::StateTransition> transition,
           std::function<void()> leavesLog, std::function<void(const Status&)> failed);

  /// What the topology asks of a newly elected primary: to fetch up to a target, then to apply what was fetched and
  /// fetch no more (answered with DrainDone).
  void catchUp(const replication::CatchUp& wanted);
  void drain(const replication::Drain& wanted);
  /// The node's place has changed: a member with data that does not lead follows, others do nothing.
  void placeChanged(const replication::ReplicaView& now);

 private:
  enum class Mode { kIdle, kFollowing, kCatchingUp, kLeading };
  struct Wanted {
    Mode mode = Mode::kIdle;
    int64_t term = 0;  ///< catching up and leading: in which
    OpTime target;     ///< catching up: until when
  };

  void want(const Wanted& wanted);
  static Task<void> work(std::shared_ptr<DataRole> self);
  Task<void> carryOutAll();
  std::optional<Wanted> takeWanted();
  bool isSuperseded();
  Task<void> carryOut(Wanted wanted);
  Task<void> lead(int64_t term);
  /// Asks until it is answered or something else is wanted. False: the latter.
  Task<bool> ask(const char* actor, Payload question);
  Task<void> leaveTerm();
  void beginTerm(int64_t term);
  /// False: it was superseded.
  Task<bool> untilNoted(int64_t term);
  Task<Status> noteTerm(int64_t term);
  Task<Status> tryNote(int64_t term);
  /// The first entry of a set's log says so; whether the log is all of its data, too.
  Task<Status> noteBeginning();

  server::ServerContext& server_;
  const std::shared_ptr<replication::StateTransition> transition_;
  const std::function<void()> leavesLog_;
  const std::function<void(const Status&)> failed_;
  const std::shared_ptr<replication::PrimaryProgress> writes_;
  std::mutex mutex_;
  std::optional<Wanted> wanted_;
  Mode last_ = Mode::kIdle;  ///< that was wanted
  bool working_ = false;
  int64_t term_ = 0;  ///< in which this node writes; 0: it does not. Of the work alone
};

}  // namespace troupe::supervisors
