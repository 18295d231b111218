#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/machines/machine_host.hpp"
#include "actors/replication/fetch_figures.hpp"
#include "actors/replication/oplog_buffer.hpp"
#include "actors/replication/remote_members.hpp"
#include "actors/replication/source_log.hpp"
#include "messaging/log/log.hpp"
#include "state_machines/replication/fetching.hpp"

namespace troupe::replication {

/// Path of the fetcher on every member with data.
inline constexpr const char* kFetcherPath = "/node/replication/fetcher";

/// The document of a member's fetching: it outlives the actor, and goes with the process. Any thread.
class FetcherState final : public machines::StateStore<Fetching::Document> {
 public:
  explicit FetcherState(NodeName self) { document_.self = std::move(self); }

  Fetching::Document document() const {
    const std::lock_guard lock(mutex_);
    return document_;
  }
  Task<Status> put(const Fetching::Document& document, const machines::UnknownFields&, machines::Durability) override {
    const std::lock_guard lock(mutex_);
    document_ = document;
    co_return Status::OK();
  }
  Task<Status> remove(bson::Document, machines::Durability) override {
    co_return Status(ErrorCode::kIllegalOperation, "fetching has no end");
  }
  Task<Status> settle() override { co_return Status::OK(); }

 private:
  mutable std::mutex mutex_;
  Fetching::Document document_;
};

/// A line of the node's log: what is always the same in it.
struct FetcherLine {
  int id = 0;
  log::Severity severity = log::Severity::kInfo;
  std::string_view message;
};

/// Parts of the node that the fetcher uses. All that is referred to outlives the actor; functions are called on it, and
/// must not block.
struct FetcherParts {
  std::shared_ptr<FetcherState> state;
  RemoteMembers* members = nullptr;
  OplogBuffer* buffer = nullptr;
  /// What is known of the set now; `own` is filled in by the fetcher. (source_candidates.hpp)
  std::function<Candidates()> candidates;
  /// Newest entry of this member's own log that is applied; default: it has none. Counts where the buffer has held
  /// none since it was opened.
  std::function<OpTime()> applied;
  /// The entry up to which this member's data are inconsistent, which a source must have (REP-009). May be null.
  std::function<std::optional<OpTime>()> required;
  /// Ends when the buffer, which is closed, is empty: its entries have been applied, or were dropped where a delayed
  /// member may not apply them yet, and are fetched again. May be null.
  std::function<Task<Status>()> drained;
  /// The buffer is open again, and empty. May be null.
  std::function<void()> opened;
  /// Takes back what this member and the source do not have in common; ends when that is done. Called again for a
  /// rollback that a crash of the fetcher has cut off. Null: the member stays diverged.
  std::function<Task<Status>(NodeName source)> rollBack;
  /// Copies the data of another member; ends when this one can go on from its newest entry. Errors:
  /// NodeNotFound (nobody could be the source, and this member has kept its data). Null: it waits for ever.
  std::function<Task<Status>()> initialSync;
  /// The new primary of that term is to lead without what it was to catch up with. May be null.
  std::function<void(int64_t term)> endCatchUp;
  /// Makes the node RECOVERING to others, or ends that. Called again while it is so. May be null.
  std::function<Task<Status>(bool on)> setMaintenance;
  /// Counts what is fetched. May be null.
  FetchFigures* figures = nullptr;
  /// Writes a line to the node's log. May be null.
  std::function<void(const FetcherLine& line, const bson::Document& attributes)> log;
  /// Bytes that a source may have sent and that were not read yet.
  size_t credit = 8 * 1024 * 1024;
  /// After each transition: for simulations. May be null.
  std::function<void(const Snapshot<Fetching>&, const machines::Outcome<Fetching>&)> observe;
};

/// The actor around the fetching machine of a member: `/node/replication/fetcher`. Reads the log of the source that the
/// machine has chosen, checks that each entry follows the one before, and pushes them into the buffer; while that is
/// full it reads nothing, so that the source sends nothing (REP-018).
///
/// Its messages are the commands of fetching.hpp (local payloads): SetChanged (told), and Follow, CatchUpTo,
/// StopFetching and SyncFrom (asked). StopFetching closes the buffer, and is answered with Done when nothing more will
/// be pushed; Follow and CatchUpTo wait for what is left in it to be applied, and open it again.
class OplogFetcher final : public machines::MachineHost<Fetching> {
 public:
  explicit OplogFetcher(FetcherParts parts);

  Behaviour behaviour() override;
  bson::Document describe() const override;

 protected:
  void unanswered(const Event& event, Context asker) override;
  void transitioned(const machines::Outcome<Fetching>& outcome) override;

 private:
  using Action = machines::ActionOf<Fetching>;
  using Outcome = StatusWith<std::optional<Event>>;
  using Doing = machines::Doing<Event>;

  /// One fetch while it is under way.
  struct Pull {
    bool isAbandoned = false;  ///< it was told to end: it pushes nothing more, and nobody hears of its end
    bool isPushing = false;    ///< its entries may still enter the buffer
    bool isOver = false;
    std::vector<Promise<troupe::Done>> awaitingPush;
    NodeName source;
    Mission mission = Mission::kFollow;
    TimePoint began{};
    bool isTailing = false;  ///< its last batch was a small one: the next comes within a second
    TimePoint heard{};       ///< when its source gave something, or the buffer had room for that
    TimePoint suspected{};   ///< `heard` when silence was noticed: once more, and the machine is told
    OpTime last;             ///< the newest entry it has pushed, or from which it began
    int64_t entries = 0, bytes = 0, batches = 0;
  };

  static machines::HostOptions<Fetching> hostOptions(const FetcherParts& parts);
  Candidates look() const;
  /// The newest entry fetched or applied.
  OpTime newest() const;

  Task<Outcome> perform(Action action, Doing doing);
  Task<Outcome> done(LookAround action);
  Task<Outcome> done(Probe action, Doing doing);
  Task<Outcome> done(Fetch action);
  Task<Outcome> done(EndFetch action);
  Task<Outcome> done(CloseBuffer action);
  Task<Outcome> done(RollBack action);
  Task<Outcome> done(NeedInitialSync action);
  Task<Outcome> done(EndCatchUp action);
  Task<Outcome> done(SetMaintenance action);

  Task<FetchEnded> pull(Fetch fetch, std::shared_ptr<Pull> pull);
  /// Looks for silence of the source from time to time, until the fetch ends.
  void watchSilence(std::shared_ptr<Pull> pull);
  void noteSilence(Pull& pull);
  /// Reads and pushes batch by batch until the fetch ends.
  Task<FetchEnded> readOn(Fetch fetch, std::shared_ptr<Pull> pull, RemoteDocuments& documents);
  /// What the first batch says of the source; OK to go on, with the number of its entries that this member has.
  Task<std::optional<FetchEnded>> checkFirst(Fetch fetch, OpTime last, std::vector<bson::View> entries);
  Task<bool> push(std::shared_ptr<Pull> pull, std::vector<FetchedEntry> entries);

  void answerStops();
  void logChange(const machines::Outcome<Fetching>& outcome);
  void logDenials(const machines::Outcome<Fetching>& outcome) const;
  void logEndOfCatchUp(const Snapshot<Fetching>& now) const;
  void log(const FetcherLine& line, const bson::Document& attributes) const;

  FetcherParts parts_;
  std::shared_ptr<Pull> pull_;  ///< the newest fetch; null: none yet
  std::vector<Context> stops_;
  Snapshot<Fetching> before_;
  std::string why_;  ///< of the last failure of a source, for people
};

}  // namespace troupe::replication
