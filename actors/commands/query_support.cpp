#include "actors/commands/query_support.hpp"

#include "actors/commands/tailing.hpp"
#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/capped_waiters.hpp"
#include "actors/server/command.hpp"
#include "actors/server/read_concern.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/shown_command.hpp"
#include "actors/server/user_store.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/expression/node.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Results between two looks at the clock.
constexpr int kResultsPerLook = 64;
/// Bytes for the framing of the cursor and of reply fields, beside the documents.
constexpr size_t kReplyOverhead = 16 * 1024;

class ExecutorStream final : public ResultStream {
 public:
  ExecutorStream(std::shared_ptr<QueryResources> resources, std::unique_ptr<query::Executor> executor)
      : resources_(std::move(resources)), executor_(std::move(executor)) {}

  StatusWith<query::Next> next() override { return executor_->next(); }

  void save() override { executor_->save(); }

  Status restore(storage::OperationContext& operation) override {
    resources_->operation = &operation;
    TROUPE_TRY(resources_->catalog().status());
    return executor_->restore(resources_->unit(), resources_->server.catalog.unguarded());
  }

  query::FullScan fullScan() const override { return executor_->stats().fullScan; }
  storage::RecordId recordId() const override { return executor_->recordId(); }

  void report(storage::OperationMetrics& metrics) const override {
    const query::ExecutionStats& stats = executor_->stats();
    metrics.keysExamined = stats.keysExamined;
    metrics.docsExamined = stats.docsExamined;
    metrics.planSummary = stats.planSummary;
    metrics.hasSortStage = stats.hasSortStage;
  }

 private:
  std::shared_ptr<QueryResources> resources_;
  std::unique_ptr<query::Executor> executor_;
};

/// Takes up again what `suspend` gave up, in this command or the one before.
Task<Status> resume(Request& request, ResultStream& stream) {
  TROUPE_CO_TRY(co_await resumeLocks(request.server().node, request.operation()));
  TROUPE_CO_TRY(co_await stream.adjustLocks(request));
  TROUPE_CO_TRY(stream.restore(request.operation()));
  if (!request.server().membership) co_return Status::OK();
  TROUPE_CO_TRY(checkRole(request));  // a read that this node may no longer serve ends at its next turn
  if (!stream.readsReplicated()) co_return Status::OK();
  co_return checkRoleForReading(request.server(), readsFromSecondaries(request));
}

/// Whether an expression names a variable that has another value in each command; not within $literal.
bool namesPresent(const bson::Element& e) {
  if (e.is(bson::Type::kString)) {
    const auto name = e.asString().substr(0, e.asString().find('.'));
    return name == "$$NOW" || name == "$$CLUSTER_TIME";
  }
  if (!e.isObjectLike()) return false;
  for (const bson::Element& inner : e.asDocument())
    if (inner.name() != "$literal" && namesPresent(inner)) return true;
  return false;
}

Status checkLetVariable(const bson::Element& e) {
  if (e.name() == "NOW" || e.name() == "CLUSTER_TIME")
    return {ErrorCode(4738901), "'let' may not set the system variable " + std::string(e.name())};
  if (e.name() != "CURRENT") TROUPE_TRY(query::checkVariableName(e.name()));
  if (namesPresent(e)) return {ErrorCode(51144), "'let' may not use NOW or CLUSTER_TIME for " + std::string(e.name())};
  return Status::OK();
}

/// Evaluates each `let` variable, to a document of values. Later ones may use earlier ones.
StatusWith<bson::Document> evaluateLet(bson::View let, const query::ParseContext& context) {
  query::ParseContext earlier = context;
  bson::Document values;
  query::HeldMemory memory(context.work);
  for (const bson::Element& e : let) {
    TROUPE_TRY(checkLetVariable(e));
    TROUPE_ASSIGN(const auto expression, query::parseExpression(e, earlier));
    query::Dependencies needed;
    expression->addDependencies(needed);
    if (needed.wholeDocument || !needed.paths.empty())
      return Status(ErrorCode(4890500), "'let' may not use fields of documents for " + std::string(e.name()));
    query::Variables none(context.work);
    TROUPE_ASSIGN(const auto value, expression->evaluate(bson::View(), none));
    bson::Builder more;
    more.appendAll(values).append(e.name(), value);
    values = more.finish();
    TROUPE_TRY(memory.set(static_cast<int64_t>(values.bytes().size())));
    earlier.let = values;
  }
  return values;
}

/// The values of `let`, evaluated once for all statements of a command that have the same collation: there may be
/// 100,000 of them, and the variables may be expensive. They know neither documents nor $$NOW.
StatusWith<std::shared_ptr<const EvaluatedLet>> evaluatedLet(const Request& request, bson::View let,
                                                             const QueryResources& resources) {
  const auto& before = request.rememberedLet();
  if (before && before->given == let.data() && bson::Collator::same(before->collator.get(), resources.collator.get()))
    return before;
  auto made = std::make_shared<EvaluatedLet>();
  made->collator = resources.collator;
  TROUPE_ASSIGN(made->values, evaluateLet(let, resources.context));
  TROUPE_TRY(made->memory.grow(request.server().operations.memory, static_cast<int64_t>(made->values.bytes().size())));
  // Not of a command that the server has put together: another one may lie in its place later.
  const std::string_view body = request.body().bytes();
  if (let.data() > body.data() && let.data() < body.data() + body.size()) {
    made->given = let.data();
    request.remember(made);
  }
  return std::shared_ptr<const EvaluatedLet>(std::move(made));
}

struct BatchState {
  int64_t returned = 0;
  bool exhausted = false;
  bool isOnly = false;  ///< nobody can ask for what it does not hold
};

/// A tailable cursor outlives the end of its results, once it has a position to go on from.
bool staysOpen(const ClientCursor& cursor) {
  if (!cursor.tail) return false;
  storage::OperationMetrics metrics;
  cursor.stream->report(metrics);
  return metrics.docsExamined > 0;
}

/// Moves results into the open array of the reply.
Task<Status> fillBatch(Request& request, ClientCursor& cursor, BatchLimit limit, BatchState& state) {
  ScanPriority priority(request, *cursor.stream);
  if (priority.isLow()) TROUPE_CO_TRY(co_await priority.admit(request, *cursor.stream));
  bson::Builder& reply = request.reply();
  RawBatch* raw = request.rawBatch ? &*request.rawBatch : nullptr;
  if (raw) {
    limit.bytes = std::min(limit.bytes, raw->bytes);
    raw->reserve(limit.bytes);
  }
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
      push(cursor.held->view());
      if (cursor.position) cursor.position->record = cursor.heldRecord;
      cursor.held.reset();
      continue;
    }
    auto next = cursor.stream->next();
    if (!next.isOK()) co_return next.status();
    if (next->isEnd()) {
      state.exhausted = !staysOpen(cursor);
      break;
    }
    if (next->isDocument()) {
      if (next->document.size() > bson::kMaxInternalDocumentSize)
        co_return Status(ErrorCode::kBSONObjectTooLarge, "a result of " + std::to_string(next->document.size()) +
                                                             " bytes is larger than the limit of a document");
      if (state.returned > 0 && size() + next->document.size() > limit.bytes) {
        cursor.held = bson::Document(next->document);
        if (cursor.position) cursor.heldRecord = cursor.stream->recordId();
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
  if (cursor.limit && cursor.returned + state.returned >= *cursor.limit) state.exhausted = true;
  co_return Status::OK();
}

Task<Status> fillNextBatch(Request& request, ClientCursor& cursor, BatchLimit limit, BatchState& state) {
  TROUPE_CO_TRY(co_await resume(request, *cursor.stream));
  co_return co_await fillBatch(request, cursor, limit, state);
}

/// The same for a tailable cursor that awaits data: looks again whenever there are news, until it has found something.
Task<Status> fillWhenThereAreNews(Request& request, ClientCursor& cursor, BatchLimit limit,
                                  std::chrono::milliseconds patience, BatchState& state) {
  const TimePoint until = request.operation().started() + patience;
  const NewsSource source = cursor.tail->news;
  for (;;) {
    const int64_t known = request.server().cappedWaiters.newsOf(source);
    if (Status status = co_await fillNextBatch(request, cursor, limit, state); !status.isOK()) co_return status;
    if (state.returned > 0 || state.exhausted) {
      cursor.tail->pace.answered(request.server().node.environment().now(), known);
      co_return Status::OK();
    }
    suspend(request.operation(), *cursor.stream);
    const auto news = co_await awaitNews(request, source, known, {until, cursor.tail->pace.isQuick()});
    if (!news.isOK()) co_return news.status();
    if (!*news) co_return Status::OK();
  }
}

/// Forgets a pinned cursor whose command ends in any way but by putting it back, also when its connection is lost.
class PinGuard {
 public:
  PinGuard(CursorRegistry& cursors, int64_t id) : cursors_(cursors), id_(id) {}
  PinGuard(const PinGuard&) = delete;
  ~PinGuard() {
    if (id_ != 0) cursors_.forget(id_);
  }
  void dismiss() { id_ = 0; }

 private:
  CursorRegistry& cursors_;
  int64_t id_;
};

void noteResults(Request& request, ClientCursor& cursor, int64_t returned) {
  cursor.returned += returned;
  ++cursor.batches;
  storage::OperationMetrics& metrics = request.operation().metrics;
  cursor.stream->report(metrics);
  metrics.returned = returned;
  ServerCounters& counters = request.server().counters;
  counters.documentsReturned.fetch_add(returned, std::memory_order_relaxed);
  counters.keysExamined.fetch_add(metrics.keysExamined, std::memory_order_relaxed);
  counters.documentsExamined.fetch_add(metrics.docsExamined, std::memory_order_relaxed);
}

}  // namespace

TimePoint QueryResources::coarseNow() const { return server.node.environment().coarseNow(); }

Status QueryResources::keep(bson::View body) {
  if (body.size() > storage::MemoryBudget::kFree) TROUPE_TRY(commandMemory_.resize(memory(), body.size()));
  command = bson::Document(body);
  return Status::OK();
}

StatusWith<CatalogReader> QueryResources::catalog() const { return server.catalog.read(unit()); }

Status QueryResources::checkForInterrupt() { return operation->checkForInterrupt(coarseNow()); }

StatusWith<CatalogReader> openCatalogView(const Request& request) {
  ServerContext& server = request.server();
  auto view = server.catalog.read(request.operation().recoveryUnit());
  if (view.isOK() && server.membership) TROUPE_TRY(checkRole(request));
  return view;
}

Status QueryResources::open(const Request& request, const AuthorizedNamespace& ns) {
  TROUPE_ASSIGN(const CatalogReader view, openCatalogView(request));
  TROUPE_ASSIGN(collection, view.find(ns));
  return Status::OK();
}

Status checkHint(const Request& request, NullHint null) {
  const auto hint = request.fields()["hint"];
  if (!hint.ok() || hint.is(bson::Type::kString) || hint.is(bson::Type::kDocument)) return Status::OK();
  if (hint.isNullish() && null == NullHint::kMeansNone) return Status::OK();
  return {ErrorCode::kFailedToParse,
          "'hint' must be the name of an index or its key, but is a " + std::string(bson::typeName(hint.type()))};
}

void suspend(storage::OperationContext& operation, ResultStream& stream) {
  stream.save();
  operation.recoveryUnit().releaseSession();
  operation.yieldLocks();
}

void setPresent(query::ParseContext& context, const ServerContext& server) {
  context.now = bson::Date{wallMillis(server)};
  context.clusterTime = bson::Timestamp{static_cast<uint32_t>(context.now.millis / 1000), 1};
}

Status prepareContext(QueryResources& r, const Request& request, bson::View collation, bson::View let) {
  if (!collation.empty()) {
    TROUPE_ASSIGN(auto collator, bson::Collator::parse(collation));
    r.collator = std::move(collator);
  } else if (r.collection) {
    r.collator = r.collection->sharedCollator();
  }
  r.context.collator = r.collator.get();
  r.context.work = &r;
  r.context.indexFilters = &request.server().indexFilters;
  setPresent(r.context, request.server());
  r.context.limits.sortMemoryBytes = static_cast<size_t>(request.server().parameters.maxQueryMemoryBytes);
  if (!let.empty()) {
    TROUPE_ASSIGN(r.let, evaluatedLet(request, let, r));
    r.context.let = r.let->values;
  }
  return Status::OK();
}

std::unique_ptr<ResultStream> streamOf(std::shared_ptr<QueryResources> resources,
                                       std::unique_ptr<query::Executor> executor) {
  return std::make_unique<ExecutorStream>(std::move(resources), std::move(executor));
}

Task<Status> letOthersRun(Request& request, ResultStream& stream, TimePoint& lastYield) {
  const TimePoint now = request.server().node.environment().now();
  if (Status status = request.operation().checkForInterrupt(now); !status.isOK()) co_return status;
  const auto wait = stream.takeWait();
  if (!wait && now - lastYield < kSlice) co_return Status::OK();
  suspend(request.operation(), stream);
  if (wait) co_await request.server().node.sleepFor(*wait);
  if (Status status = co_await request.yield(); !status.isOK()) co_return status;
  lastYield = request.server().node.environment().now();
  co_return co_await resume(request, stream);
}

ScanPriority::ScanPriority(Request& request, const ResultStream& stream)
    : operation_(request.operation()), before_(operation_.priority()) {
  const Parameters& parameters = request.server().parameters;
  const query::FullScan scan = stream.fullScan();
  isLow_ = (scan == query::FullScan::kCollection && parameters.deprioritizeUnboundedUserCollectionScans) ||
           (scan == query::FullScan::kIndex && parameters.deprioritizeUnboundedUserIndexScans);
  if (isLow_) operation_.setPriority(storage::AdmissionPriority::kLow);
}

ScanPriority::~ScanPriority() { operation_.setPriority(before_); }

Task<Status> ScanPriority::admit(Request& request, ResultStream& stream) {
  if (request.operation().exchangeTicket()) co_return Status::OK();
  suspend(request.operation(), stream);  // else others might wait for a lock or a snapshot of one that they may pass
  co_return co_await resume(request, stream);
}

std::unique_ptr<ClientCursor> newCursor(const Request& request, const std::string& ns,
                                        std::unique_ptr<ResultStream> stream) {
  auto cursor = std::make_unique<ClientCursor>();
  cursor->fromSecondaries = readsFromSecondaries(request);
  cursor->ns = ns;
  cursor->session = bson::Document(request.session());
  if (const SessionKey* session = request.client().session()) cursor->sessionKey = *session;
  cursor->owners = request.userNames();
  cursor->authorizedAt = request.server().users.version();
  cursor->grants = request.grants;
  if (request.checksPrivileges() && request.command->requirement.target == Requirement::Target::kCollection)
    cursor->grants.push_back({storage::Namespace::split(ns), auth::actions({request.command->requirement.action})});
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

namespace {

/// A scan that has given nothing yet has no position. One that has ended goes on with what comes later.
void appendPosition(bson::Builder& reply, const ClientCursor& cursor) {
  if (!cursor.position) return;
  reply.openDocument("postBatchResumeToken");
  if (!cursor.position->record.ok()) reply.append("$recordId", bson::Null{});
  else reply.append("$recordId", cursor.position->record.toValue()).append("$ident", cursor.position->ident);
  reply.close();
}

}  // namespace

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
    suspend(request.operation(), *cursor->stream);
    cursor->stash = request.operation().stash();
    bson::Builder shown;
    appendShownCommand(shown, request.body(), kShownFieldBytesOfCursor);
    cursor->command = bson::Document(shown.finish()["command"].asDocument());
    if (const auto deadline = request.operation().deadline(); deadline && !(cursor->tail && cursor->tail->awaitData)) {
      cursor->maxTimeLeft =
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - request.server().node.environment().now());
    }
    id = request.server().cursors.add(std::move(cursor));
  }
  request.cursorId = id;
  request.cursorExhausted = id == 0;
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

Task<Status> replyWithNextBatch(Request& request, std::unique_ptr<ClientCursor> cursor, BatchLimit limit,
                                std::optional<std::chrono::milliseconds> patience) {
  limit.bytes -= kReplyOverhead;
  CursorRegistry& cursors = request.server().cursors;
  const int64_t id = cursor->id;
  PinGuard guard(cursors, id);
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
  bool open = !state.exhausted;
  if (open) {
    suspend(request.operation(), *cursor->stream);
    cursor->stash = request.operation().stash();
    open = cursors.unpin(cursor, request.server().node.environment().now());
    guard.dismiss();
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
