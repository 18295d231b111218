#include "actors/commands/tailing.hpp"

#include "actors/kernel/node.hpp"
#include "actors/server/capped_waiters.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/progress_wait.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/oplog_collection.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Wait of a getMore without maxTimeMS.
constexpr auto kDefaultPatience = std::chrono::milliseconds(1000);

bool isForward(bson::View order) {
  return order.empty() || (order.first().name() == "$natural" && order.first().toDouble() == 1 && order.count() == 1);
}

}  // namespace

StatusWith<bool> wantsTailable(const Request& request, const storage::Collection* collection) {
  if (!request.flag("tailable")) {
    if (request.flag("awaitData"))
      return Status(ErrorCode::kFailedToParse, "Cannot set 'awaitData' without also setting 'tailable'");
    return false;
  }
  if (request.flag("singleBatch"))
    return Status(ErrorCode::kBadValue, "Cannot use the 'tailable' option with the 'singleBatch' option");
  if (!isForward(request.document("sort")))
    return Status(ErrorCode::kBadValue, "Cannot use the 'tailable' option with a sort other than {$natural: 1}");
  if (collection && !collection->isCapped())
    return Status(ErrorCode::kBadValue, "error processing query: ns=" + collection->ns().toString() +
                                            " tailable cursor requested on non capped collection");
  return true;
}

/// A write to any other collection of the database local is not replicated, and visible to majority reads at once.
NewsSource newsFor(const Request& request, const storage::Collection& collection) {
  const bool ofMajority = request.operation().recoveryUnit().readSource() == storage::ReadSource::kMajority;
  const bool committed = collection.ns().isReplicated() || collection.ns() == storage::oplogName();
  const bool ofLog = collection.ns() == storage::oplogName() && request.server().progress;
  return {collection.uuid(), ofMajority && committed, ofLog && !ofMajority};
}

StatusWith<std::optional<std::chrono::milliseconds>> patience(const Request& getMore, const ClientCursor& cursor) {
  const auto limit = getMore.arg("maxTimeMS");
  if (!cursor.tail || !cursor.tail->awaitData) {
    if (limit)
      return Status(ErrorCode::kBadValue, "cannot set maxTimeMS on getMore command for a non-awaitData cursor");
    return std::optional<std::chrono::milliseconds>();
  }
  if (!limit) return std::optional(kDefaultPatience);
  const int64_t millis = limit.toInt64(-1);
  if (millis < 0 || millis > INT32_MAX)
    return Status(ErrorCode::kBadValue,
                  std::to_string(millis) + " value for maxTimeMS is out of range [0, 2147483647]");
  return std::optional(millis == 0 ? kDefaultPatience : std::chrono::milliseconds(millis));
}

namespace {

/// A reader of the log that gathers, from before it waits for news until it has gathered: the flush of the journal
/// waits for it. Ends with the frame that holds it, however the command ends.
class LogGathering {
 public:
  LogGathering(ServerContext& server, bson::Timestamp end) : server_(server), end_(end) {
    server_.bursts.beginGathering(end_);
  }
  LogGathering(const LogGathering&) = delete;
  LogGathering& operator=(const LogGathering&) = delete;
  ~LogGathering() {
    server_.bursts.endGathering(end_);
    if (server_.durability.claimWake()) server_.wakeFlusher();
  }

 private:
  ServerContext& server_;
  const bson::Timestamp end_;
};

Task<void> awaitFirstNews(Request& request, NewsSource source, int64_t known, TimePoint until) {
  ServerContext& server = request.server();
  const auto woken = std::make_shared<Promise<Done>>();
  auto news = woken->future();
  server.cappedWaiters.wakeOnNews(source, known, woken);
  const auto wake = [woken](const Status&) { woken->set(Done{}); };
  const InterruptibleWait guard(server.node.environment(), request.operation(), wake, {.limit = until});
  co_await news;
}

/// A moment, or until the whole burst of writers waits.
Task<void> awaitBurst(Request& request) {
  ServerContext& server = request.server();
  const auto woken = std::make_shared<Promise<Done>>();
  auto complete = woken->future();
  server.bursts.whenComplete(woken);
  const auto wake = [woken](const Status&) { woken->set(Done{}); };
  const TimePoint quiet = server.node.environment().now() + NewsPace::kQuietOfKnown;
  const InterruptibleWait guard(server.node.environment(), request.operation(), wake, {.limit = quiet});
  co_await complete;
}

/// What was sent is not committed yet, so its writers are still to come with their next entries: those of others wait
/// for them, or writers would go on in two bursts that cost as much as twice as many in one.
Task<void> awaitCommit(Request& request, OpTime sent, TimePoint until) {
  ServerContext& server = request.server();
  if (sent == OpTime{} || !server.progress->role()->leads) co_return;
  const auto committed = [sent](auto& progress, auto done) {
    return progress.whenReached(sent, true, [done = std::move(done)] { done(Status::OK()); });
  };
  (void)co_await awaitProgress(request, committed, {.limit = until});
}

/// Ends with the burst of writers, when no more news come, or the first ones have waited long enough.
Task<void> gatherNews(Request& request, NewsSource source, OpTime sent) {
  ServerContext& server = request.server();
  const TimePoint until = server.node.environment().now() + NewsPace::kGathering;
  if (source.ofLog) co_await awaitCommit(request, sent, until);
  for (;;) {
    const int64_t known = server.cappedWaiters.newsOf(source);
    if (source.ofLog) co_await awaitBurst(request);
    else co_await server.node.sleepFor(NewsPace::kQuiet);
    if (source.ofLog && server.bursts.isComplete()) co_return;
    if (server.cappedWaiters.newsOf(source) == known || server.node.environment().now() >= until) break;
  }
  if (source.ofLog) server.bursts.expectNoMore();
}

}  // namespace

Task<StatusWith<bool>> awaitNews(Request& request, NewsSource source, int64_t known, NewsWait wait) {
  ServerContext& server = request.server();
  Environment& environment = server.node.environment();
  const TimePoint began = environment.now();
  bool inTime = began < wait.until;
  if (inTime) {
    request.endWithClient();
    std::optional<LogGathering> gathering;
    if (wait.gathers && source.ofLog) gathering.emplace(server, wait.end);
    co_await awaitFirstNews(request, source, known, wait.until);
    inTime = environment.now() < wait.until;
    if (inTime && wait.gathers) co_await gatherNews(request, source, wait.sent);
    request.operation().metrics.awaited += environment.now() - began;
  }
  if (server.hello.shuttingDown()) co_return Status(ErrorCode::kInterruptedAtShutdown, "The server is shutting down");
  TROUPE_CO_TRY(request.checkForInterrupt());
  co_return inTime;
}

}  // namespace troupe::commands
