#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/document_store.hpp"
#include "messaging/schemas/supervision.capnp.h"

namespace troupe::machines {

/// This node has become primary in that term: instances are rebuilt from their documents (local payload; answered with
/// ServiceRebuilt when all are there).
struct BecomePrimary {
  int64_t term = 0;
};
struct ServiceRebuilt {
  size_t instances = 0, parked = 0;
};
/// This node is no longer primary: instances are interrupted (local payload; answered with ServiceInterrupted when the
/// last one has ended). A change of role does not wait for that, and neither does the next primary: instances of two
/// nodes may overlap, and so may their messages. Writes are fenced by the term: those of one instance at most reach a
/// majority.
struct StepDown {};
struct ServiceInterrupted {};

struct ServiceLimits {
  size_t batch = 32;    ///< instances started (their documents read), or ended, in one turn
  int maxFailures = 5;  ///< of one instance within `failureWindow`; then it is set aside
  Duration failureWindow = std::chrono::minutes(1);
  Duration firstPause = std::chrono::milliseconds(100);  ///< before an instance that failed is built again; doubled
  size_t maxHeld = 10'000;                               ///< requests that wait for the end of a rebuild
  /// The term in which this node is primary when the service starts: 0 for one that stands alone, nothing where it is
  /// not primary; null: it stands alone. Later it is told (BecomePrimary, StepDown), but what is told between two
  /// lives of the service, or while it is parked, goes to nobody.
  std::function<std::optional<int64_t>()> term = {};
};

/// The part that all primary-only services share, for any machine: one host for each document of the store while this
/// node is primary, none otherwise, and never two of one `_id`. Hosts that fail are built again from their document;
/// those that fail too often, and documents that cannot be read, are set aside with their reason in the tree, and can
/// be resumed there. The machine's side is `PrimaryOnlyService`.
class PrimaryOnlyServiceBase : public Actor {
 public:
  PrimaryOnlyServiceBase(std::shared_ptr<DocumentStore> store, ServiceLimits limits)
      : store_(std::move(store)), limits_(limits) {}

  Behaviour behaviour() override;
  void onStart() override;
  void onStopRequested() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 protected:
  /// The host of a document; fails for one that cannot be read.
  virtual StatusWith<std::unique_ptr<Actor>> makeHost(const std::string& name, bson::View document, bool isNew) = 0;
  /// The instance is gone.
  virtual void forget(const std::string& name) = 0;
  virtual const char* machineName() const = 0;

  /// Calls `then` while this node serves: now, or when the rebuild is over; otherwise the context is refused.
  void whenServing(Context context, std::function<void(Context)> then);
  bool knows(const std::string& name) const { return instances_.contains(name); }
  /// The host of a running instance; the empty address for one that is set aside or being restarted.
  Address hostOf(const std::string& name) const;
  /// Starts the host of a new document.
  StatusWith<Address> begin(const std::string& name, bson::Document document);
  const std::shared_ptr<DocumentStore>& store() const { return store_; }

 private:
  struct Instance {
    bson::Document key;
    bool running = false;
    bool restarting = false;  ///< an operator ended it: no failure
    bool removed = false;     ///< it was told that its document is gone
    std::string parked;       ///< why it is set aside; empty if it is not
    std::deque<TimePoint> failures;
    TimerId revival = 0;
    std::shared_ptr<LiveRow> row = nullptr;  ///< kept while no host has it
  };
  enum class State { kStandingBy, kRebuilding, kServing, kInterrupting };

  void enter(State state);
  bool runsInstances() const { return state_ == State::kServing || state_ == State::kRebuilding; }
  void endOrphans();
  void become(int64_t term);
  void interrupt();
  void interrupted();
  Task<void> rebuild(uint64_t epoch);
  Task<void> endHosts(uint64_t epoch);
  Task<void> revive(std::string name, uint64_t epoch);
  Status run(const std::string& name, bson::View document, bool isNew);
  void ended(const Down& down);
  void failed(const std::string& name, Instance& instance, const Status& reason);
  void park(const std::string& name, Instance& instance, const Status& reason);
  void erase(const std::string& name);
  void removed(const DocumentRemoved& removed);
  void removed(const std::string& name);
  void control(schema::ControlChild::Reader wanted, Context& context);
  void refuse(Context& context) const;
  std::shared_ptr<LiveRow> keepRow(const std::string& name);
  size_t parkedCount() const;

  std::shared_ptr<DocumentStore> store_;
  const ServiceLimits limits_;
  State state_ = State::kStandingBy;
  int64_t term_ = 0;
  uint64_t epoch_ = 0;  ///< grows with each step up and down: what began in an older one is over
  bool stopping_ = false, wantsPrimary_ = false;
  std::map<std::string, Instance> instances_;
  size_t running_ = 0;  ///< instances whose host lives
  std::deque<std::pair<Context, std::function<void(Context)>>> held_;
  std::vector<Context> awaitingRebuild_, awaitingInterrupt_;
};

}  // namespace troupe::machines
