#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/doing.hpp"
#include "actors/machines/instance_name.hpp"
#include "actors/machines/message_binding.hpp"
#include "actors/machines/retry_pause.hpp"
#include "actors/machines/state_store.hpp"
#include "actors/machines/transition_text.hpp"
#include "messaging/description/bson_archive.hpp"
#include "messaging/description/fingerprint.hpp"
#include "state_machines/core/diagram.hpp"
#include "state_machines/core/machine.hpp"

namespace troupe::machines {

/// Asks for a machine's instance (local payload): a new one, or the one that runs for the same request. Answered with
/// MachineStarted once its document is safe, or at its end with MachineEnded (or its failure) if `untilEnd`.
template <MachineType M>
struct StartMachine {
  typename M::Document document;
  bool untilEnd = false;
};
struct MachineStarted {
  Address host;
};
struct MachineEnded {};
/// Asks a host to answer with MachineEnded, or its failure, when it has come to its end (local payload).
struct AwaitEnd {};

/// Services of the node that a machine's host uses, besides the document.
template <MachineType M>
struct HostOptions {
  using Event = typename M::Event;
  /// Does an action on this node, as a coroutine of the host; gives the event that comes of it, if any, and reports
  /// progress through `doing`. A failure worth retrying is tried again with pauses as long as the machine stays in its
  /// phase and does not cancel it; any other one ends the host. The end of the host cancels its actions.
  std::function<Task<StatusWith<std::optional<Event>>>(Actor& host, ActionOf<M> action, Doing<Event> doing)> perform;
  Duration askTimeout = std::chrono::seconds(10);
  /// Called after each transition, on the host: for tests and for what watches protocols. May be null.
  std::function<void(const Snapshot<M>&, const Outcome<M>&)> observe;
};

/// {_id: ...} of a machine's document; one without `id` has the machine's name for it.
template <MachineType M>
bson::Document keyOf(const typename M::Document& document) {
  return keyOfDocument(toBson(document), M::kName);
}
/// The text that names an instance in paths and in the tree.
template <MachineType M>
std::string instanceName(const typename M::Document& document) {
  return instanceNameOf(keyOf<M>(document));
}

/// The only code that runs machines in production. One event at a time: decide, write the document, wait until it is as
/// safe as the transition asks for, then perform the effects. Events that come while a document is being written are
/// decided at once, on the newest state; their effects wait for their own document and for those before it. Decisions
/// made during one write share the next. Failures that pass are retried. Events come as
/// messages of their types, from timers, as answers to asks, and from actions. A host ends when its machine finishes; a
/// crash or a step-down ends it in between, and the next one resumes from the document. Runs anywhere a Node runs: on
/// real time and WiredTiger, or simulated.
template <MachineType M>
class MachineHost : public Actor {
 public:
  using Event = typename M::Event;
  using Document = typename M::Document;

  /// `isNew`: the document is not in the store yet.
  MachineHost(std::shared_ptr<DocumentStore> store, Loaded<Document> found, bool isNew, HostOptions<M> options)
      : MachineHost(std::make_shared<DescribedStore<Document>>(std::move(store)), std::move(found), isNew,
                    std::move(options)) {}
  MachineHost(std::shared_ptr<StateStore<Document>> store, Loaded<Document> found, bool isNew, HostOptions<M> options)
      : store_(std::move(store)), options_(std::move(options)), isNew_(isNew), unknown_(std::move(found.unknown)) {
    now_.document = std::move(found.value);
    name_ = instanceName<M>(now_.document);
  }

  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override { return toBson(now_.document, unknown_); }
  const MachineOutline* outline() const override;
  const Snapshot<M>& snapshot() const { return now_; }

 protected:
  /// Brings an event as if it had been received; answers go nowhere.
  void take(Event event) { take(Waiting{std::move(event)}); }
  /// The asker of an event that was handled without an answer. The default drops it, which tells it so; override to
  /// answer it later.
  virtual void unanswered(const Event& event, Context asker) { (void)event, (void)asker; }
  /// First step of the machine with the document that was found; override for what only its host knows.
  virtual Step<M> resume() const { return M::resume(now_.document); }
  /// The snapshot is a new one; its effects come next.
  virtual void adopted() {}
  /// After each event, with its effects under way.
  virtual void transitioned(const Outcome<M>& outcome) { (void)outcome; }
  /// Before a message of the machine leaves: for what only its host knows.
  virtual void sending(MessageOf<M>& message) { (void)message; }
  /// Decisions wait for a document to be written; `snapshot()` is what holds without them.
  bool awaitsDocument() const { return !decided_.empty(); }
  /// Where messages without `kReceiver` go on other nodes: to the same path.
  Address receiver(const NodeName& node, const MessageOf<M>& message) const;

 private:
  /// An ask. Its answer is heard once, and only in the phase in which it was asked.
  struct Question {
    uint64_t phaseCount;
    std::string key;  ///< fingerprint of the receiver and the message
    auto operator<=>(const Question&) const = default;
  };
  struct Waiting {
    Event event;
    std::optional<Context> asker = std::nullopt;
    std::string timer = {};  ///< the key of the timer that brought it: taken back meanwhile, it means nothing
    std::optional<Question> question = std::nullopt;  ///< that it answers
  };

  /// A decision whose document is not safe yet.
  struct Decided {
    Outcome<M> outcome;
    Waiting cause;
    uint64_t phaseCount;  ///< of the state after it
  };
  /// Decisions beyond this wait for a document to be safe.
  static constexpr size_t kMostDecided = 64;

  template <size_t I>
  void addHandler(Behaviour& behaviour);
  void take(Waiting waiting);
  void process(Waiting waiting);
  void drain();
  /// Whether that event can be decided now.
  bool canHear(const Waiting& waiting) const;
  /// Whether a decision whose document is not safe takes that timer back, or arms it anew.
  bool isTakenBack(const std::string& timer) const;
  /// The state after all decisions, written or not; `snapshot()` is the newest written one.
  const Snapshot<M>& newest() const { return decided_.empty() ? now_ : decided_.back().outcome.next; }
  uint64_t newestPhaseCount() const { return decided_.empty() ? phaseCount_ : decided_.back().phaseCount; }
  /// Whether that event still means something to the newest state: its timer was not taken back, its question is open.
  bool isCurrent(const Waiting& waiting);
  Task<void> begin();
  Task<void> writeDecided();
  Task<bool> save(const Outcome<M>& outcome);
  Task<bool> settle();
  Task<bool> untilDone(std::function<Task<Status>()> attempt);
  void adopt(Outcome<M> outcome, Waiting* cause);
  /// Enters the step into the node's log; `now_` is still the state before it.
  void record(const Outcome<M>& outcome, const Waiting* cause) const;
  void recordStop(const Status& reason) const;
  TransitionRecord newRecord() const;
  void finish(const Status& outcome);
  void showPhase();

  void perform(Effect<M>& effect, Context* asker);
  void perform(Send<M>& effect, Context*);
  void perform(Ask<M>& effect, Context*);
  void perform(Reply<M>& effect, Context* asker);
  void perform(Refuse& effect, Context* asker);
  void perform(Arm<M>& effect, Context*);
  void perform(Disarm<M>& effect, Context*);
  void disarm(const std::string& key);
  void perform(Do<M>& effect, Context*);
  void perform(Cancel<M>& effect, Context*);
  Task<void> askUntilAnswered(Address to, Payload message, Question question);
  /// Whether that is the progress of an action under way.
  bool isDoing(const LatestValue<Event>& progress) const;
  Task<void> actUntilDone(ActionOf<M> action, Doing<Event> doing, uint64_t phaseCount);

  std::shared_ptr<StateStore<Document>> store_;
  HostOptions<M> options_;
  const bool isNew_;
  Snapshot<M> now_;
  std::string name_;  ///< of the instance; its id never changes
  UnknownFields unknown_;
  int64_t revision_ = 0;
  uint64_t phaseCount_ = 0;  ///< phases entered so far by `now_`
  bool isStarting_ = true;   ///< its first document is not safe: events wait
  bool isAdopting_ = false;  ///< effects are being performed: events wait
  bool isSlow_ = false;      ///< on purpose
  bool isWriting_ = false;
  bool leaving_ = false;         ///< its end is decided: the document goes, or is gone
  std::deque<Decided> decided_;  ///< in their order; the first ones are being written
  std::deque<Waiting> waiting_;
  std::set<Question> asked_;               ///< open ones
  std::map<std::string, TimerId> timers_;  ///< by the fingerprint of their event; 0: fired, and waits for its turn
  std::multimap<std::string, Doing<Event>> doing_;  ///< actions under way, by their fingerprint
  std::vector<Context> awaitingStart_, awaitingEnd_;
};

}  // namespace troupe::machines

#include "actors/machines/machine_host_impl.hpp"
