#include "actors/commands/prepared_aggregation.hpp"

#include "actors/commands/cursor_batches.hpp"
#include "actors/commands/pipeline_environment.hpp"
#include "actors/commands/views.hpp"
#include "actors/kernel/node.hpp"

namespace troupe::commands {
using namespace server;

using query::Pipeline;

namespace {

/// Feeds a pipeline from a plan.
class ExecutorStage final : public query::Stage {
 public:
  /// `givesKeys`: each document comes with the index key that led to it, as the metadata of `$meta`.
  ExecutorStage(QueryResources& resources, std::unique_ptr<query::Executor> executor, bool givesKeys)
      : resources_(resources), executor_(std::move(executor)), givesKeys_(givesKeys) {}

  StatusWith<query::Next> next() override {
    auto next = executor_->next();
    if (!givesKeys_ || !next.isOK() || !next->isDocument()) return next;
    TROUPE_ASSIGN(const bson::Document key, executor_->indexKey());
    if (key.view().empty()) return next;
    metadata_ = bson::doc("indexKey", key);
    return query::Next::of(next->document, metadata_.view());
  }
  std::string_view name() const override { return "$cursor"; }
  void serialize(bson::Builder& stages) const override {
    stages.pushDocument().openDocument("$cursor").close().close();
  }
  void save() override { executor_->save(); }
  Status restore() override { return executor_->restore(resources_.unit(), resources_.server.catalog.unguarded()); }
  query::Executor& executor() const { return *executor_; }

 private:
  QueryResources& resources_;
  std::unique_ptr<query::Executor> executor_;
  bool givesKeys_;
  bson::Document metadata_;  ///< of the last document
};

/// A pipeline's results with everything it borrows.
class PipelineStream final : public ResultStream {
 public:
  PipelineStream(std::shared_ptr<QueryResources> resources, std::unique_ptr<CommandPipelineEnvironment> environment,
                 std::unique_ptr<Pipeline> pipeline, query::Executor* executor)
      : resources_(std::move(resources)),
        environment_(std::move(environment)),
        pipeline_(std::move(pipeline)),
        executor_(executor) {}

  StatusWith<query::Next> next() override { return pipeline_->next(); }
  std::optional<std::chrono::milliseconds> takeWait() override { return environment_->takeWait(); }
  void save() override { pipeline_->save(); }
  bool readsReplicated() const override { return environment_->namespaces().readsReplicated(); }
  Task<Status> adjustLocks(Request& request) override { return lock_.adjust(request); }
  Status restore(storage::OperationContext& operation) override {
    resources_->operation = &operation;
    TROUPE_TRY(resources_->catalog().status());
    return pipeline_->restore();
  }
  OutputLock& lock() { return lock_; }
  query::FullScan fullScan() const override {
    return executor_ && !pipeline_->writes() ? executor_->stats().fullScan : query::FullScan::kNone;
  }
  void report(storage::OperationMetrics& metrics) const override {
    if (!executor_) return;
    metrics.keysExamined = executor_->stats().keysExamined;
    metrics.docsExamined = executor_->stats().docsExamined;
    metrics.planSummary = executor_->stats().planSummary;
    metrics.hasSortStage = executor_->stats().hasSortStage;
  }

 private:
  std::shared_ptr<QueryResources> resources_;
  OutputLock lock_;
  std::unique_ptr<CommandPipelineEnvironment> environment_;
  std::unique_ptr<Pipeline> pipeline_;
  query::Executor* executor_;
};

bson::View documentIn(bson::View command, std::string_view name) {
  const auto e = command[name];
  return e.isObjectLike() ? e.asDocument() : bson::View();
}

Status openSource(PreparedAggregation& prepared, bson::View command, bool natural) {
  invariant(Pipeline::useOfInput(documentIn(command, "pipeline")) == query::NamespaceUse::kRead,
            "a collection is scanned for those who may find its documents");
  QueryResources& r = *prepared.resources;
  prepared.pushed = prepared.pipeline->takePushDown();
  query::FindRequest find;
  find.keepKeys = prepared.pipeline->readsIndexKey();
  find.filter = prepared.pushed.filter;
  find.sort = prepared.pushed.sort;
  find.skip = prepared.pushed.skip;
  find.limit = prepared.pushed.limit;
  if (const auto hint = command["hint"]; !hint.isNullish()) find.hint = hint;
  find.allowDiskUse = natural;
  find.forbidCollectionScan = r.server.parameters.notablescan;
  find.spill = query::spillToDirectory(r.server.spillDirectory);
  TROUPE_ASSIGN(auto executor, query::openFind(r.collection, find, r.unit(), r.context));
  prepared.executor = executor.get();
  prepared.pipeline->attach(std::make_unique<ExecutorStage>(r, std::move(executor), find.keepKeys));
  return Status::OK();
}

query::PipelineContext pipelineContext(QueryResources& r, CommandPipelineEnvironment& environment,
                                       const storage::Namespace& on) {
  ServerContext& server = r.server;
  query::PipelineContext context;
  context.parse = &r.context;
  context.environment = &environment;
  context.on = {std::string(on.db()), std::string(on.collection())};
  context.allowDiskUse = r.context.limits.allowDiskUse;
  context.spill = query::spillToDirectory(server.spillDirectory);
  context.memoryLimit = server.parameters.maxQueryMemoryBytes;
  context.random = [&environment = server.node.environment()] { return environment.randomShare(); };
  return context;
}

/// Admits what the client's own stages name. They are parsed apart from those of the views they run on, which name what
/// the client need not be allowed to read. `context`: as for the view itself, whose statistics the first one may ask
/// for.
Status admitOwnStages(Request& request, CommandPipelineEnvironment& environment, const query::PipelineContext& context,
                      bson::View command) {
  const bson::View stages = documentIn(command, "pipeline");
  TROUPE_ASSIGN(const auto own, Pipeline::parse(stages, context));
  using enum query::NamespaceUse;
  const query::NamespaceUse use = Pipeline::useOfInput(stages);
  if (use != kRead && use != kIndexStatistics && use != kPlanCache)
    return {ErrorCode::kCommandNotSupportedOnView, "a view cannot be read by a pipeline that begins with " +
                                                       std::string(stages.first().asDocument().first().name())};
  return environment.namespaces().admit(request, own->involved(), command["bypassDocumentValidation"].truthy());
}

StatusWith<std::unique_ptr<Pipeline>> parseResolved(Request& request, QueryResources& r, const ResolvedViews& resolved,
                                                    CommandPipelineEnvironment& environment) {
  const auto context = pipelineContext(r, environment, resolved.ns);
  if (resolved.throughView) {
    const auto named = pipelineContext(r, environment, resolved.view->ns());
    TROUPE_TRY(admitOwnStages(request, environment, named, r.command));
  }
  TROUPE_ASSIGN(auto pipeline, Pipeline::parse(environment.stages(), context));
  if (resolved.throughView) {
    TROUPE_TRY(environment.admitFromView(pipeline->involved()));
    return pipeline;
  }
  const bool bypass = r.command.view()["bypassDocumentValidation"].truthy();
  TROUPE_TRY(environment.namespaces().admit(request, pipeline->involved(), bypass));
  return pipeline;
}

}  // namespace

StatusWith<AuthorizedNamespace> resolveInput(Request& request, storage::Namespace ns, bson::View command) {
  const query::NamedCollection input{{std::string(ns.db()), std::string(ns.collection())},
                                     Pipeline::useOfInput(documentIn(command, "pipeline"))};
  return NamespaceResolution::resolve(request, input);
}

StatusWith<PreparedAggregation> prepareAggregation(Request& request, const AuthorizedNamespace& ns, bson::View given) {
  PreparedAggregation prepared;
  prepared.resources = std::make_shared<QueryResources>(request.server(), request.operation());
  QueryResources& r = *prepared.resources;
  TROUPE_TRY(r.keep(given));
  const bson::View command = r.command;
  TROUPE_ASSIGN(const CatalogReader catalog, openCatalogView(request));
  const bson::View stages = documentIn(command, "pipeline");
  // $collStats tells about the view itself.
  const bool looksThrough = Pipeline::useOfInput(stages) != query::NamespaceUse::kCollectionStatistics;
  TROUPE_ASSIGN(auto resolved, looksThrough ? resolveViews(catalog, ns, stages) : resolveName(catalog, ns, stages));
  // A view has a collation of its own, which may not be overridden; that of its collection does not count.
  r.collection = resolved.view ? resolved.view : ns.collection().empty() ? nullptr : resolved.collection;
  TROUPE_TRY(prepareContext(r, request, documentIn(command, "collation"), documentIn(command, "let")));
  if (resolved.view && !bson::Collator::same(r.collator.get(), resolved.view->collator()))
    return Status(ErrorCode::kOptionNotSupportedOnView, "Cannot override a view's default collation: " + ns.toString());
  r.collection = ns.collection().empty() ? nullptr : resolved.collection;
  const auto disk = command["allowDiskUse"];
  const bool allowDisk = disk.isNullish() || disk.truthy();
  r.context.limits.allowDiskUse = allowDisk;

  auto environment = std::make_unique<CommandPipelineEnvironment>(request, r);
  environment->keep(std::move(resolved.stages));
  TROUPE_ASSIGN(auto pipeline, parseResolved(request, r, resolved, *environment));
  prepared.pipeline = pipeline.get();
  if (ns.collection().empty() && !prepared.pipeline->isCollectionless()) {
    return Status(ErrorCode::kInvalidNamespace,
                  "{aggregate: 1} is not valid for '" +
                      std::string(documentIn(command, "pipeline").first().isObjectLike()
                                      ? documentIn(command, "pipeline").first().asDocument().first().name()
                                      : "an empty pipeline") +
                      "'; a collection is required.");
  }
  r.furtherNamespaces = std::make_shared<std::vector<storage::Namespace>>();
  request.furtherNamespaces = r.furtherNamespaces;
  if (resolved.throughView) r.furtherNamespaces->push_back(resolved.ns);
  if (prepared.pipeline->writes()) {
    TROUPE_ASSIGN(prepared.target, environment->outputTarget(prepared.pipeline->writeTarget()));
    r.furtherNamespaces->push_back(*prepared.target);
  }
  TROUPE_TRY(prepared.pipeline->optimize());
  if (!prepared.pipeline->startsWithSource()) TROUPE_TRY(openSource(prepared, command, allowDisk));
  prepared.ns = ns.collection().empty() ? std::string(ns.db()) + ".$cmd.aggregate" : ns.toString();
  auto stream = std::make_unique<PipelineStream>(prepared.resources, std::move(environment), std::move(pipeline),
                                                 prepared.executor);
  prepared.lock = &stream->lock();
  prepared.stream = std::move(stream);
  return prepared;
}

bson::Document findAsPipeline(bson::View find) {
  bson::Builder stages;
  const auto stage = [&](std::string_view name, std::string_view argument) {
    const auto e = find[argument];
    if (e.isNullish() || (e.isObjectLike() && e.asDocument().empty()) || (e.isNumber() && e.toInt64() <= 0)) return;
    stages.pushDocument().append(name, e).close();
  };
  stage("$match", "filter");
  stage("$sort", "sort");
  stage("$skip", "skip");
  stage("$limit", "limit");
  stage("$project", "projection");
  return stages.finish();
}

Task<Status> findOnView(Request& request, AuthorizedNamespace ns) {
  for (const auto name : {"min", "max", "returnKey", "showRecordId", "tailable", "awaitData", "$_requestResumeToken"}) {
    if (const auto e = request.arg(name); e && (!e.is(bson::Type::kBool) || e.truthy()))
      co_return Status(ErrorCode::kInvalidPipelineOperator, "Option " + std::string(name) + " not supported on views");
  }
  bson::Builder command;
  command.append("aggregate", ns.collection()).appendArray("pipeline", findAsPipeline(request.body()));
  for (const auto name : {"collation", "let", "hint", "allowDiskUse"}) command.append(name, request.arg(name));
  const bson::Document aggregate = command.finish();
  auto prepared = prepareAggregation(request, ns, aggregate);
  if (!prepared.isOK()) co_return prepared.status();
  BatchLimit limit;
  limit.documents = request.number("batchSize", 101);
  co_return co_await replyWithCursor(request, newCursor(request, ns.toString(), std::move(prepared->stream)), limit,
                                     request.flag("singleBatch"));
}

}  // namespace troupe::commands
