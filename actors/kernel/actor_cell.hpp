#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/node.hpp"
#include "actors/kernel/post_office.hpp"
#include "actors/kernel/registry.hpp"
#include "actors/kernel/task.hpp"

namespace troupe {

/// Asks an actor for what only it knows; answered by the kernel itself with `Inspection`.
struct Inspect {};
struct Inspection {
  bson::Document state;
  std::vector<MessageTrace> received, sent;
  const machines::MachineOutline* machine = nullptr;
};

/// The shell of an actor: mailbox, executor of its coroutines, timers, and its row in the registry. The CAF actor
/// derives from it (caf_cell.cpp). Internal to the kernel.
class ActorCell : public TaskHost, public Mailbox {
 public:
  Node& node() const { return node_; }
  const Address& self() const { return self_; }
  const std::shared_ptr<LiveRow>& row() const { return row_; }
  Environment& environment() const { return node_.environment(); }

  // The actor's side; on the actor's context.
  void send(Envelope envelope);
  Future<Answer> ask(Envelope envelope, Duration timeout);
  TimerId startTimer(Duration delay, Duration period, std::function<void()> action);
  void cancelTimer(TimerId timer);
  void stop(Status reason) {
    if (!ending_) ending_ = std::move(reason);
  }
  void deferReady() { readyDeferred_ = true; }
  void ready();

  // From any thread.
  /// Lets a timer that is due run on the actor.
  virtual void fireTimer(TimerId timer) noexcept = 0;

  // All living cells of a node, in a list guarded by the node.
  ActorCell* previousCell = nullptr;
  ActorCell* nextCell = nullptr;

 protected:
  ActorCell(Node& node, Address self, std::unique_ptr<Actor> actor, const SpawnOptions& options);
  ~ActorCell();
  void onStarted() noexcept;
  void onEnvelope(Envelope envelope) noexcept;
  void onTimer(TimerId timer) noexcept;
  void onEnd(bool inOrder, const Status& reason) noexcept;
  /// Once, as the actor's last turn: why it ends.
  Status ended() noexcept;
  bool isEnding() const { return ending_.has_value(); }
  void taskFailed(std::exception_ptr failure) noexcept override;

 private:
  struct Timer {
    std::function<void()> action;
    Duration period;
    TimePoint due;
    TimerId armed;
  };
  /// The last messages in one direction.
  class Ring {
   public:
    void add(const char* name, Address peer, uint32_t atMs);
    std::vector<MessageTrace> list(Environment& environment) const;

   private:
    struct Entry {
      const char* name;
      Address peer;
      uint32_t atMs;
    };
    std::vector<Entry> entries_;
    size_t oldest_ = 0;
  };

  void inspect(Envelope envelope) noexcept;
  void dispatch(Context& context);
  void setTrace(Context& context);
  void arm(TimerId id, Timer& timer);
  /// Runs `body`; what it throws ends the actor.
  template <class F>
  void guarded(F&& body) noexcept;
  void crash(const std::string& what) { stop(Status(ErrorCode::kInternalError, what)); }

  Node& node_;
  const Address self_;
  const Address parent_;
  std::unique_ptr<Actor> actor_;
  Behaviour behaviour_;
  std::shared_ptr<LiveRow> row_;
  std::optional<Status> ending_;
  /// State of actors that have sent messages or set timers; allocated late, because most actors are idle.
  struct Activity {
    Ring received, sent;
    std::unordered_map<TimerId, Timer> timers;
    TimerId lastTimer = 0;
  };
  Activity& activity() {
    if (!activity_) activity_ = std::make_unique<Activity>();
    return *activity_;
  }
  std::unique_ptr<Activity> activity_;
  bool readyDeferred_ = false, readyTold_ = false, traced_ = false, over_ = false;
};

}  // namespace troupe
