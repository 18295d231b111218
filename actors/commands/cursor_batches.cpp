#include "actors/commands/cursor_batches.hpp"

#include <algorithm>
#include <utility>

#include "actors/commands/query_support.hpp"
#include "actors/commands/tailing.hpp"
#include "actors/kernel/node.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/server/capped_waiters.hpp"
#include "actors/server/command.hpp"
#include "actors/server/read_concern.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/shown_command.hpp"
#include "messaging/errors/co_status.hpp"
#include "messaging/wire/frame_reader.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Results between two looks at the clock.
constexpr int kResultsPerLook = 64;
/// Bytes for the framing of the cursor and of reply fields, beside the documents.
constexpr size_t kReplyOverhead = 16 * 1024;

/// Of an idle cursor beside its command: its plan, the state of its operation, its entry in the registry.
constexpr int64_t kBytesOfCursor = 4096;
/// A parsed command takes some times its bytes.
constexpr int64_t kParsedPerByte = 4;

struct BatchState {
  int64_t returned = 0;
  bool exhausted = false;
  bool atEnd = false;   ///< it has all that the source gave now
  bool isOnly = false;  ///< nobody can ask for what it does not hold
};

/// A tailable cursor outlives the end of its results, once it has a position to go on from.
bool staysOpen(const ClientCursor& cursor) {
  if (!cursor.tail) return false;
  storage::OperationMetrics metrics;
  cursor.stream->report(metrics);
  return metrics.docsExamined > 0;
}

/// What a client leaves in cursors counts for the node, like its messages (`Request::accountForMessages`): those of
/// other members do not.
storage::MemoryGovernor* governorOfCursors(const Request& request) {
  return request.rawBatch ? nullptr : request.operation().services().memory;
}

/// Keeps a result that does not fit into this batch for the next one, which comes whenever the client likes. Where the
/// node is full a new cursor fails; one that has given batches would be lost with what this one has.
Status hold(Request& request, ClientCursor& cursor, bson::View document) {
  const Status charged = cursor.heldMemory.resize(governorOfCursors(request), static_cast<int64_t>(document.size()));
  if (!charged.isOK() && cursor.batches == 0) return charged;
  cursor.held = bson::Document(document);
  if (cursor.position) cursor.heldRecord = cursor.stream->recordId();
  return Status::OK();
}

/// Ends a batch early where the owner of its connection leaves nearly all unread that it may (MessageMemory): one that
/// reads over many connections at once gets smaller batches, and loses none of them.
class UnreadShare {
 public:
  explicit UnreadShare(Request& request) : request_(request) {}
  /// Whether the reply may become so many bytes larger; they are counted then.
  bool mayTake(size_t more) {
    const auto& reserve = request_.client().reserveAnswer;
    const size_t needed = request_.reply().size() + more + kOtherFields;
    if (needed <= reserved_ || !reserve || request_.rawBatch) return true;
    // Ahead of what is needed, as far as there is room: the count is shared by all connections.
    const size_t ahead = needed + std::min(needed, kStep);
    if (reserve(ahead)) reserved_ = ahead;
    else if (reserve(needed)) reserved_ = needed;
    return needed <= reserved_;
  }

 private:
  static constexpr size_t kOtherFields = 4 * 1024;
  static constexpr size_t kStep = 256 * 1024;
  Request& request_;
  size_t reserved_ = wire::FrameReader::kIdleSize;  ///< smaller answers do not count
};

/// Moves results into the open array of the reply.
Task<Status> fillBatch(Request& request, ClientCursor& cursor, BatchLimit limit, BatchState& state) {
  ScanPriority priority(request, *cursor.stream);
  if (priority.isLow()) TROUPE_CO_TRY(co_await priority.admit(request, *cursor.stream));
  bson::Builder& reply = request.reply();
  RawBatch* raw = request.rawBatch ? &*request.rawBatch : nullptr;
  if (raw) {
    limit.bytes = std::min(limit.bytes, raw->bytes);
    raw->reserve(std::min(limit.bytes, 2 * cursor.lastRawBytes));
  }
  UnreadShare unread(request);
  const size_t start = reply.size();
  const auto size = [&] { return raw ? raw->documents.size() : reply.size() - start; };
  const auto push = [&](bson::View document) {
    if (raw) raw->documents += document.bytes();
    else reply.push(document);
    ++state.returned;
  };
  TimePoint lastYield = request.operation().started();
  while (!limit.documents || state.returned < *limit.documents) {
    if (cursor.held) {
      (void)unread.mayTake(cursor.held->view().size());  // the first result has to be taken
      push(cursor.held->view());
      if (cursor.position) cursor.position->record = cursor.heldRecord;
      cursor.held.reset();
      cursor.heldMemory.shrinkTo(0);  // it counts for the reply now
      if (!request.accountForMessages().isOK()) break;
      continue;
    }
    auto next = cursor.stream->next();
    if (!next.isOK()) co_return next.status();
    if (next->isEnd()) {
      state.exhausted = !staysOpen(cursor);
      state.atEnd = true;
      break;
    }
    if (next->isDocument()) {
      if (next->document.size() > bson::kMaxInternalDocumentSize)
        co_return Status(ErrorCode::kBSONObjectTooLarge, "a result of " + std::to_string(next->document.size()) +
                                                             " bytes is larger than the limit of a document");
      const size_t more = next->document.size();
      const bool hasRoom = state.isOnly || unread.mayTake(more);
      if (state.returned > 0 && (size() + more > limit.bytes || !hasRoom)) {
        if (!state.isOnly) TROUPE_CO_TRY(hold(request, cursor, next->document));
        break;
      }
      push(next->document);
      if (cursor.position) cursor.position->record = cursor.stream->recordId();
      // Where the node is full a batch ends early: without an answer the cursor would be lost with what it has read.
      if (const Status room = request.accountForMessages(); !room.isOK()) {
        if (state.isOnly) co_return room;
        break;
      }
    }
    if (!next->isDocument() || state.returned % kResultsPerLook == 0) {
      if (Status status = co_await letOthersRun(request, *cursor.stream, lastYield); !status.isOK()) co_return status;
    }
  }
  if (raw) cursor.lastRawBytes = raw->documents.size();
  if (cursor.limit && cursor.returned + state.returned >= *cursor.limit) state.exhausted = true;
  co_return Status::OK();
}

Task<Status> fillNextBatch(Request& request, ClientCursor& cursor, BatchLimit limit, BatchState& state) {
  TROUPE_CO_TRY(co_await resume(request, *cursor.stream));
  co_return co_await fillBatch(request, cursor, limit, state);
}

bson::Timestamp visibleEnd(const Request& request) { return request.server().operations.replicated->visibility.get(); }

/// An empty look costs as much as one that finds a burst. A rollback moves the end without news.
bool hasReadAll(const Request& request, const Tail& tail, int64_t news) {
  return tail.read && tail.read->news == news && tail.read->end == visibleEnd(request);
}

/// The same for a tailable cursor that awaits data: looks again whenever there are news, until it has found something.
Task<Status> fillWhenThereAreNews(Request& request, ClientCursor& cursor, BatchLimit limit,
                                  std::chrono::milliseconds patience, BatchState& state) {
  const TimePoint until = request.operation().started() + patience;
  const NewsSource source = cursor.tail->news;
  for (;;) {
    const int64_t known = request.server().cappedWaiters.newsOf(source);
    const OpTime newest = source.ofLog ? request.server().progress->applied() : OpTime();
    if (!hasReadAll(request, *cursor.tail, known)) {
      if (Status status = co_await fillNextBatch(request, cursor, limit, state); !status.isOK()) co_return status;
      cursor.tail->read.reset();
      if (source.ofLog && state.atEnd) cursor.tail->read = LogRead{known, visibleEnd(request)};
      if (state.returned > 0 || state.exhausted) {
        cursor.tail->pace.answered(request.server().node.environment().now(), known);
        cursor.tail->sent = newest;
        co_return Status::OK();
      }
    }
    suspend(request.operation(), *cursor.stream);
    const bool isQuick = cursor.tail->pace.isQuick() && (!source.ofLog || cursor.tail->read);
    const bson::Timestamp end = cursor.tail->read ? cursor.tail->read->end : bson::Timestamp();
    const auto news = co_await awaitNews(request, source, known, {until, isQuick, cursor.tail->sent, end});
    if (!news.isOK()) co_return news.status();
    if (!*news) co_return Status::OK();
  }
}

/// A stream counts over all its batches; each command answers for its own share.
void noteResults(Request& request, ClientCursor& cursor, int64_t returned) {
  cursor.returned += returned;
  ++cursor.batches;
  storage::OperationMetrics& metrics = request.operation().metrics;
  cursor.stream->report(metrics);
  metrics.keysExamined -= std::exchange(cursor.keysExamined, metrics.keysExamined);
  metrics.docsExamined -= std::exchange(cursor.docsExamined, metrics.docsExamined);
  metrics.returned = returned;
  ServerCounters& counters = request.server().counters;
  counters.documentsReturned.fetch_add(returned, std::memory_order_relaxed);
  counters.keysExamined.fetch_add(metrics.keysExamined, std::memory_order_relaxed);
  counters.documentsExamined.fetch_add(metrics.docsExamined, std::memory_order_relaxed);
}

/// A scan that has given nothing yet has no position. One that has ended goes on with what comes later.
void appendPosition(bson::Builder& reply, const ClientCursor& cursor) {
  if (!cursor.position) return;
  reply.openDocument("postBatchResumeToken");
  if (!cursor.position->record.ok()) reply.append("$recordId", bson::Null{});
  else reply.append("$recordId", cursor.position->record.toValue()).append("$ident", cursor.position->ident);
  reply.close();
}

/// Gives up what the operation holds, and leaves what the next command of the cursor goes on with.
void leave(Request& request, ClientCursor& cursor) {
  suspend(request.operation(), *cursor.stream);
  cursor.stash = request.operation().stash();
}

/// Charges a cursor that is about to be registered: many small ones that nobody closes are memory, too. Of a command
/// beyond `kFree` the stream charges the bytes to its budget.
Status chargeCursor(const Request& request, ClientCursor& cursor) {
  const auto body = static_cast<int64_t>(std::min<size_t>(request.body().size(), storage::MemoryBudget::kFree));
  const auto shown = static_cast<int64_t>(cursor.command.view().size());
  return cursor.memory.resize(governorOfCursors(request), kBytesOfCursor + shown + kParsedPerByte * body);
}

/// Registers a cursor that has more to give, with what it needs without its command. Gives its id. Errors:
/// ExceededMemoryLimit.
StatusWith<int64_t> keep(Request& request, std::unique_ptr<ClientCursor> cursor) {
  bson::Builder shown;
  appendShownCommand(shown, request.body(), kShownFieldBytesOfCursor);
  cursor->command = bson::Document(shown.finish()["command"].asDocument());
  TROUPE_TRY(chargeCursor(request, *cursor));
  leave(request, *cursor);
  const bool awaitsData = cursor->tail && cursor->tail->awaitData;
  if (const auto deadline = request.operation().deadline(); deadline && !awaitsData)
    cursor->maxTimeLeft = *deadline - request.server().node.environment().now();
  return request.server().cursors.add(std::move(cursor));
}

/// The work of a getMore uses up the time limit of its cursor; what the client takes between two of them does not.
void countTime(const Request& request, ClientCursor& cursor) {
  if (!cursor.maxTimeLeft) return;
  *cursor.maxTimeLeft -= request.server().node.environment().now() - request.operation().started();
}

/// The failure of a getMore whose cursor was ended while it was read and had more to give.
Status endOfKilled(const Request& request) {
  TROUPE_TRY(request.checkForInterrupt());
  return {ErrorCode::kCursorKilled, "the cursor was ended while its next batch was read"};
}

/// The command's requirement, as the further batches of its cursor need it.
std::optional<Grant> grantOfCommand(const Request& request, const std::string& ns) {
  using Target = Requirement::Target;
  if (!request.checksPrivileges()) return std::nullopt;
  const auto named = storage::Namespace::split(ns);
  const Requirement& needed = request.command->requirement;
  switch (needed.target) {
    case Target::kCollection: return Grant::of(needed.action, auth::Resource::coll(named.db(), named.collection()));
    case Target::kDatabase: return Grant::of(needed.action, auth::Resource::db(request.db()));
    case Target::kCluster: return Grant::of(needed.action, auth::Resource::cluster());
    default: return std::nullopt;
  }
}

}  // namespace

PinnedCursor::~PinnedCursor() {
  if (cursor_) server_.cursors.forget(cursor_->id);
}

bool PinnedCursor::putBack() {
  const bool isOpen = server_.cursors.unpin(cursor_, server_.node.environment().now());
  cursor_.reset();
  return isOpen;
}

std::unique_ptr<ClientCursor> newCursor(const Request& request, const std::string& ns,
                                        std::unique_ptr<ResultStream> stream) {
  auto cursor = std::make_unique<ClientCursor>();
  cursor->fromSecondaries = readsFromSecondaries(request);
  cursor->ns = ns;
  cursor->session = bson::Document(request.session());
  if (const SessionKey* session = request.client().session()) cursor->sessionKey = *session;
  cursor->owners = request.users();
  // Not the newest version: since the rights were checked the command may have waited, and the users have changed.
  cursor->authorizedAt = request.client().rightsVersion();
  cursor->grants = request.grants;
  if (const auto own = grantOfCommand(request, ns)) cursor->grants.push_back(*own);
  cursor->furtherNamespaces = request.furtherNamespaces;
  cursor->created = cursor->lastUsed = request.operation().started();
  cursor->stream = std::move(stream);
  return cursor;
}

void endCursor(Request& request, int64_t id, std::string_view ns) {
  bson::Builder& reply = request.reply();
  reply.append("id", id).append("ns", ns);
  appendSnapshotTime(reply, request.operation());
  reply.close();
}

Task<Status> replyWithCursor(Request& request, std::unique_ptr<ClientCursor> cursor, BatchLimit limit, bool single) {
  limit.bytes -= kReplyOverhead;
  bson::Builder& reply = request.reply();
  reply.openDocument("cursor").openArray("firstBatch");
  BatchState state;
  state.isOnly = single;
  if (!limit.documents || *limit.documents > 0) {
    if (Status status = co_await fillBatch(request, *cursor, limit, state); !status.isOK()) co_return status;
  }
  reply.close();
  appendPosition(reply, *cursor);
  noteResults(request, *cursor, state.returned);
  const std::string ns = cursor->ns;
  int64_t id = 0;
  if (!state.exhausted && !single) {
    TROUPE_CO_ASSIGN(id, keep(request, std::move(cursor)));
  }
  request.cursorId = id;
  request.cursorExhausted = id == 0;
  // Not before it is registered: a session's killer ends its operations, then its cursors, and has to meet one of them.
  if (id != 0) TROUPE_CO_TRY(request.checkForInterrupt());
  endCursor(request, id, ns);
  co_return Status::OK();
}

Task<Status> replyWithOnlyBatch(Request& request, std::string_view ns, std::unique_ptr<ResultStream> stream,
                                std::optional<int64_t> documents) {
  BatchLimit limit{documents};
  limit.bytes -= kReplyOverhead;
  ClientCursor unregistered;
  unregistered.stream = std::move(stream);
  bson::Builder& reply = request.reply();
  reply.openDocument("cursor").openArray("firstBatch");
  BatchState state;
  state.isOnly = true;
  if (Status status = co_await fillBatch(request, unregistered, limit, state); !status.isOK()) co_return status;
  reply.close();
  noteResults(request, unregistered, state.returned);
  request.cursorExhausted = true;
  endCursor(request, 0, ns);
  co_return Status::OK();
}

Task<Status> replyWithNextBatch(Request& request, PinnedCursor& cursor, BatchLimit limit,
                                std::optional<std::chrono::milliseconds> patience) {
  limit.bytes -= kReplyOverhead;
  TROUPE_CO_TRY(request.operation().unstash(std::move(cursor->stash)));
  bson::Builder& reply = request.reply();
  reply.openDocument("cursor").openArray("nextBatch");
  BatchState state;
  Status filled;
  if (patience) filled = co_await fillWhenThereAreNews(request, *cursor, limit, *patience, state);
  else filled = co_await fillNextBatch(request, *cursor, limit, state);
  if (!filled.isOK()) co_return filled;
  reply.close();
  appendPosition(reply, *cursor);
  noteResults(request, *cursor, state.returned);
  const std::string ns = cursor->ns;
  const int64_t id = cursor->id;
  const bool open = !state.exhausted;
  if (open) {
    leave(request, *cursor);
    countTime(request, *cursor);
    // An id of 0 would pass for the end of the results.
    if (!cursor.putBack()) co_return endOfKilled(request);
  }
  request.cursorId = id;
  request.cursorExhausted = !open;
  // A client that allows it gets all batches unasked. A cursor that tails without waiting would be asked all the time.
  const bool mayStream = open && (state.returned > 0 || patience);
  if (mayStream && request.wire().has(wire::kExhaustAllowed)) request.streamOn = bson::Document(request.body());
  endCursor(request, open ? id : 0, ns);
  co_return Status::OK();
}

}  // namespace troupe::commands
