#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Supervises the builds of indexes that clients ask for: one IndexBuild below it for each, named by its UUID, so many
/// at a time as the parameter maxNumActiveUserIndexBuilds says. Requests for the same indexes join as long as
/// the outcome is open; later ones get a build of their own, which awaits the end of the other if that has unfinished
/// indexes. A build whose last client has gone is aborted, and so is one whose index or collection is dropped. A build
/// that fails as an actor is not started again: what it left is discarded, and its clients are told. Unfinished indexes
/// that no build of this life makes are discarded before this actor is ready, when a member becomes primary (SRC-006),
/// and after a build has failed. Those that could not be removed, which the log tells, do not hold the node up: they
/// are tried again later.
class IndexBuilds final : public Actor {
 public:
  explicit IndexBuilds(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override;
  void onStart() override;
  /// Aborts all builds and ends when they have.
  void onStopRequested() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  struct Waiter {
    int64_t operation = 0;
    Context context;
  };
  struct Build {
    bson::Uuid uuid;
    BuildIndexes wanted;
    std::vector<Waiter> waiters;
    int64_t operation = 0;   ///< 0: it waits for its turn
    Status why;              ///< of an end on purpose
    bool isDecided = false;  ///< its outcome is certain: requests join no more
    // Its actor's last message and the news of its end come in any order.
    std::optional<StatusWith<IndexesBuilt>> outcome;
    bool hasEnded = false;
  };
  /// Whether requests may join.
  static bool isOpen(const Build& build) { return build.why.isOK() && !build.isDecided; }
  struct Awaiting {
    std::vector<bson::Uuid> builds;  ///< that have not ended yet
    size_t found = 0;
    Context context;
  };
  using BuildAt = std::list<Build>::iterator;

  void want(Received<BuildIndexes> message, Context context);
  void stopWaiting(const StopWaiting& gone);
  void abort(Received<AbortBuilds> message, Context context);
  void await(std::vector<bson::Uuid> builds, Context context);
  void startNext();
  /// Ends a build on purpose: at once if it has not begun.
  void end(BuildAt build, const Status& why);
  void decided(const BuildDecided& decided);
  void done(const BuildDone& done);
  void ended(const Down& down);
  void finish(BuildAt build, StatusWith<IndexesBuilt> outcome);
  Task<void> cleanUp(bson::Uuid build, Status reason);
  void endOrphans();
  Task<void> recover();
  Task<void> discardLeft();
  void endReplicated();
  BuildAt find(const bson::Uuid& uuid);

  server::ServerContext* const server_;
  std::list<Build> builds_;  ///< in the order they came
  std::vector<Awaiting> awaiting_;
  size_t orphans_ = 0;  ///< builds of this actor's last life that have not ended yet
  bool stopping_ = false;
  bool triesAgain_ = false;  ///< a timer is set that discards what is left then
};

}  // namespace troupe::maintenance
