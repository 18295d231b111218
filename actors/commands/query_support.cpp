#include "actors/commands/query_support.hpp"

#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/role_check.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/expression/node.hpp"

namespace troupe::commands {
using namespace server;

namespace {

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

Task<Status> resume(Request& request, ResultStream& stream) {
  TROUPE_CO_TRY(co_await resumeLocks(request.server().node, request.operation()));
  TROUPE_CO_TRY(co_await stream.adjustLocks(request));
  TROUPE_CO_TRY(stream.restore(request.operation()));
  if (!request.server().membership) co_return Status::OK();
  TROUPE_CO_TRY(checkRole(request));  // a read that this node may no longer serve ends at its next turn
  if (!stream.readsReplicated()) co_return Status::OK();
  co_return checkRoleForReading(request.server(), readsFromSecondaries(request));
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
  if (wait) TROUPE_CO_TRY(co_await pauseFor(request.server().node.environment(), request.operation(), *wait));
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

}  // namespace troupe::commands
