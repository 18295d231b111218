#include "actors/commands/pipeline_environment.hpp"

#include <algorithm>

#include "actors/commands/inspection.hpp"
#include "actors/commands/listed_rows.hpp"
#include "actors/commands/out_collection.hpp"
#include "actors/commands/views.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/role_check.hpp"
#include "messaging/bson/collation.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/pipeline/pipeline.hpp"
#include "storage/query/update/update.hpp"

namespace troupe::commands {
using namespace server;

using query::CollectionName;
using query::StagePtr;

namespace {

/// Documents made at once, handed out one by one.
class RowsStage final : public query::Stage {
 public:
  RowsStage(std::string name, ListedRows rows) : name_(std::move(name)), rows_(std::move(rows)) {}
  StatusWith<query::Next> next() override {
    const auto row = rows_.next();
    return row ? query::Next::of(*row) : query::Next::end();
  }
  std::string_view name() const override { return name_; }
  void serialize(bson::Builder& stages) const override { stages.pushDocument().openDocument(name_).close().close(); }

 private:
  std::string name_;
  ListedRows rows_;
};

/// A scan of another collection, in the snapshot of the whole query.
class ScanStage final : public query::Stage {
 public:
  explicit ScanStage(const QueryResources& query) : query_(query) {}

  Status open(storage::CollectionPtr collection, const query::PushDown& request, const query::ParseContext& outer) {
    context_ = outer;
    filter_ = request.filter;
    sort_ = request.sort;
    query::FindRequest find;
    find.filter = filter_;
    find.sort = sort_;
    find.skip = request.skip;
    find.limit = request.limit;
    find.spill = query::spillToDirectory(query_.server.spillDirectory);
    TROUPE_ASSIGN(executor_, query::openFind(std::move(collection), find, query_.unit(), context_));
    return Status::OK();
  }
  StatusWith<query::Next> next() override { return executor_->next(); }
  std::string_view name() const override { return "$cursor"; }
  void serialize(bson::Builder& stages) const override {
    stages.pushDocument().openDocument("$cursor").close().close();
  }
  void save() override { executor_->save(); }
  Status restore() override { return executor_->restore(query_.unit(), query_.server.catalog.unguarded()); }

 private:
  const QueryResources& query_;
  query::ParseContext context_;
  bson::Document filter_, sort_;
  std::unique_ptr<query::Executor> executor_;
};

/// A view read by another pipeline: the view's own pipeline over its collection.
class ViewStage final : public query::Stage {
 public:
  ViewStage(bson::Document stages, std::unique_ptr<query::Pipeline> pipeline)
      : stages_(std::move(stages)), pipeline_(std::move(pipeline)) {}
  StatusWith<query::Next> next() override { return pipeline_->next(); }
  std::string_view name() const override { return "$view"; }
  void serialize(bson::Builder& stages) const override { stages.pushDocument().openDocument("$view").close().close(); }
  void save() override { pipeline_->save(); }
  Status restore() override { return pipeline_->restore(); }

 private:
  bson::Document stages_;
  std::unique_ptr<query::Pipeline> pipeline_;
};

/// Nothing where the option was not given.
void appendLatencyStats(bson::Builder& row, const CollectionUsage& usage, const bson::Element& option) {
  if (!option.ok()) return;
  const bool histograms = option.asDocument()["histograms"].truthy();
  row.openDocument("latencyStats");
  for (const auto& [name, kind] : {std::pair("reads", LatencyKind::kReads), std::pair("writes", LatencyKind::kWrites),
                                   std::pair("commands", LatencyKind::kCommands)})
    appendLatency(row, name, usage.latencies[static_cast<size_t>(kind)], histograms);
  appendLatency(row, "transactions", {}, histograms);  // of many documents: there are none
  row.close();
}

void appendQueryExecStats(bson::Builder& row, const CollectionUsage& usage) {
  row.append("queryExecStats", bson::doc("collectionScans", bson::doc("total", usage.collectionScans, "nonTailable",
                                                                      usage.nonTailableScans)));
}

}  // namespace

namespace {

/// The option that is given and not null, even where another of its name is.
bson::Element givenOption(bson::View options, std::string_view name) {
  for (const bson::Element& e : options)
    if (e.name() == name && !e.isNullish()) return e;
  return {};
}

/// A row of $listClusterCatalog: no collection of this server is sharded.
bson::Document clusterCatalogRow(const storage::Collection& collection, bool shards) {
  bson::Builder row;
  row.append("db", collection.ns().db()).append("ns", collection.ns().toString());
  const bson::Document described = collectionRow(collection, false);
  for (const bson::Element& e : described.view())
    if (e.name() != "name") row.append(e);
  row.append("sharded", false);
  if (shards) row.openArray("shards").close();
  return row.finish();
}

/// A view has latencies, but nothing is stored of it.
Status checkCollStatsOfView(const storage::Collection& collection, bson::View options) {
  if (!collection.isView()) return Status::OK();
  for (const std::string_view option : {"storageStats", "count", "queryExecStats"})
    if (givenOption(options, option).ok())
      return {ErrorCode::kCommandNotSupportedOnView,
              "$collStats has no '" + std::string(option) + "' of the view " + collection.ns().toString()};
  return Status::OK();
}

/// A row of $collStats: what its options ask for.
bson::Document collStatsRow(ServerContext& server, const storage::Collection& collection, const std::string& ns,
                            bson::View options, bson::Date now) {
  bson::Builder row;
  row.append("ns", ns).append("host", server.identity.host).append("localTime", now);
  appendLatencyStats(row, server.usage.of(ns), givenOption(options, "latencyStats"));
  if (const auto storage = givenOption(options, "storageStats"); storage.ok()) {
    const auto scale = storage.asDocument()["scale"];
    row.append("storageStats",
               collectionStatistics(server, collection, std::clamp<int64_t>(scale.toInt64(1), 1, INT32_MAX)));
  }
  if (givenOption(options, "count").ok()) row.append("count", query::integer(collection.records().count()));
  if (givenOption(options, "queryExecStats").ok()) appendQueryExecStats(row, server.usage.of(ns));
  return row.finish();
}

}  // namespace

CommandPipelineEnvironment::CommandPipelineEnvironment(const Request& request, QueryResources& resources)
    : resources_(resources),
      server_(request.server()),
      bypassesValidation_(resources.command["bypassDocumentValidation"].truthy()),
      fromSecondaries_(readsFromSecondaries(request)) {
  viewer_ = SessionViewer::of(request);
  ownOperations_.narrowTo(request);
  inspection_ = NamespaceResolution::inspection(request);
}

Status CommandPipelineEnvironment::admitFromView(std::span<const query::NamedCollection> named) {
  namespaces_.admitFromView(named);
  return namespaces_.readsReplicated() ? checkRoleForReading(server_, fromSecondaries_) : Status::OK();
}

StatusWith<StagePtr> CommandPipelineEnvironment::scan(const CollectionName& from, const query::PushDown& request) {
  TROUPE_ASSIGN(const auto ns, namespaces_.find(from, query::NamespaceUse::kRead));
  return scanNamespace(ns, request);
}

StatusWith<StagePtr> CommandPipelineEnvironment::scanNamespace(const AuthorizedNamespace& ns,
                                                               const query::PushDown& request) {
  TROUPE_ASSIGN(const CatalogReader catalog, resources_.catalog());
  TROUPE_ASSIGN(auto collection, catalog.find(ns));
  if (collection && collection->isView()) return scanView(ns, request);
  auto stage = std::make_unique<ScanStage>(resources_);
  TROUPE_TRY(stage->open(std::move(collection), request, request.parse ? *request.parse : resources_.context));
  return StagePtr(std::move(stage));
}

StatusWith<StagePtr> CommandPipelineEnvironment::scanView(const AuthorizedNamespace& ns,
                                                          const query::PushDown& request) {
  if (request.limit && *request.limit == 0)
    return StagePtr(std::make_unique<RowsStage>("$limit", ListedRows(*resources_.memory())));
  bson::Builder wanted;
  if (!request.filter.empty()) wanted.pushDocument().append("$match", request.filter).close();
  if (!request.sort.empty()) wanted.pushDocument().append("$sort", request.sort).close();
  if (request.skip > 0) wanted.pushDocument().append("$skip", request.skip).close();
  if (request.limit) wanted.pushDocument().append("$limit", *request.limit).close();
  TROUPE_ASSIGN(const CatalogReader catalog, resources_.catalog());
  TROUPE_ASSIGN(auto resolved, resolveViews(catalog, ns, wanted.finish()));
  noteFurther(*resources_.furtherNamespaces, resolved.ns);
  query::PipelineContext context;
  context.parse = request.parse ? request.parse : &resources_.context;
  context.spill = query::spillToDirectory(server_.spillDirectory);
  context.environment = this;
  context.on = {std::string(resolved.ns.db()), std::string(resolved.ns.collection())};
  context.depth = request.depth + 1;
  TROUPE_ASSIGN(auto pipeline, query::Pipeline::parse(resolved.stages, context));
  TROUPE_TRY(admitFromView(pipeline->involved()));
  TROUPE_TRY(pipeline->optimize());
  if (!pipeline->startsWithSource()) {
    TROUPE_ASSIGN(auto source, scanNamespace(resolved.ns, pipeline->takePushDown()));
    pipeline->attach(std::move(source));
  }
  return StagePtr(std::make_unique<ViewStage>(std::move(resolved.stages), std::move(pipeline)));
}

StatusWith<StagePtr> CommandPipelineEnvironment::openSessions(std::string_view stage, bson::View options) {
  const std::function<Status()> step = [this] { return checkInterrupt(); };
  TROUPE_ASSIGN(const auto wanted, ListedSessions::of(stage, options, viewer_, server_.users, step));
  if (stage == "$listSessions") {
    const AuthorizedNamespace ns = NamespaceResolution::sessions();
    noteFurther(*resources_.furtherNamespaces, ns);
    query::PushDown request;
    request.filter = wanted.filter();
    return scanNamespace(ns, request);
  }
  ListedRows rows(*resources_.memory());
  TROUPE_TRY(addLocalSessions(server_, wanted, step, rows));
  return StagePtr(std::make_unique<RowsStage>(std::string(stage), std::move(rows)));
}

Status CommandPipelineEnvironment::addNodeRows(std::string_view stage, bson::View options, ListedRows& rows) const {
  if (stage == "$currentOp") {
    OperationQuery query = options["allUsers"].truthy() ? OperationQuery() : ownOperations_;
    query.idleConnections = options["idleConnections"].truthy();
    query.idleCursors = options["idleCursors"].truthy();
    return currentOperations(server_, query, rows);
  }
  TROUPE_TRY(rows.reserve(actorRowBytes(server_)));
  for (bson::Document& row : server_.actorRows(options)) TROUPE_TRY(rows.add(std::move(row)));
  return Status::OK();
}

StatusWith<StagePtr> CommandPipelineEnvironment::openSource(const CollectionName& on,
                                                            const bson::Element& specification) {
  const std::string name(specification.name());
  const bson::View options = specification.isObjectLike() ? specification.asDocument() : bson::View();
  ListedRows listed(*resources_.memory());
  const auto rows = [&](std::vector<bson::Document> more) -> StatusWith<StagePtr> {
    for (bson::Document& row : more) TROUPE_TRY(listed.add(std::move(row)));
    return StagePtr(std::make_unique<RowsStage>(name, std::move(listed)));
  };
  if (name == "$currentOp" || name == "$actors") {
    if (on.db != "admin")
      return Status(ErrorCode::kInvalidNamespace,
                    name + " must be run against the 'admin' database with {aggregate: 1}");
    if (!inspection_) return Status(ErrorCode::kUnauthorized, "not authorized on admin to use " + name);
    TROUPE_TRY(addNodeRows(name, options, listed));
    return rows({});
  }
  if (name == "$listCatalog") {
    if (!inspection_) return Status(ErrorCode::kUnauthorized, "not authorized to use $listCatalog");
    if (on.collection.empty()) {
      TROUPE_ASSIGN(const CatalogReader catalog, resources_.catalog());
      TROUPE_ASSIGN(const auto all, catalog.everything(*inspection_));
      for (const auto& collection : all) {
        TROUPE_TRY(resources_.step());
        TROUPE_TRY(listed.add(catalogRow(*collection)));
      }
      return rows({});
    }
  }
  if (name == "$listClusterCatalog") {
    if (!inspection_) return Status(ErrorCode::kUnauthorized, "not authorized to use $listClusterCatalog");
    TROUPE_ASSIGN(const CatalogReader catalog, resources_.catalog());
    TROUPE_ASSIGN(const auto all, catalog.everything(*inspection_));
    for (const auto& collection : all) {
      TROUPE_TRY(resources_.step());
      if (on.db == "admin" || collection->ns().db() == on.db)
        TROUPE_TRY(listed.add(clusterCatalogRow(*collection, options["shards"].truthy())));
    }
    return rows({});
  }
  if (name == "$querySettings") return rows({});
  if (name == "$listSessions" || name == "$listLocalSessions") return openSessions(name, options);
  TROUPE_ASSIGN(const auto ns, namespaces_.find(on, query::useOfSource(name).value_or(query::NamespaceUse::kRead)));
  TROUPE_ASSIGN(const CatalogReader catalog, resources_.catalog());
  TROUPE_ASSIGN(const auto collection, catalog.find(ns));
  if (name == "$indexStats" || name == "$planCacheStats" || name == "$listCatalog") {
    if (!collection || collection->isView() || name == "$planCacheStats") return rows({});
    return rows(name == "$indexStats" ? indexStatistics(server_, *collection) : std::vector{catalogRow(*collection)});
  }
  if (name == "$collStats") {
    if (!collection) return Status(ErrorCode::kNamespaceNotFound, "Collection [" + on.full() + "] not found.");
    TROUPE_TRY(checkCollStatsOfView(*collection, options));
    return rows({collStatsRow(server_, *collection, on.full(), options, resources_.context.now)});
  }
  return Status(ErrorCode::kUnrecognizedPipelineStageName, "Unrecognized pipeline stage name: '" + name + "'");
}

/// A $merge is admitted for its inserts, its updates, or both.
StatusWith<AuthorizedNamespace> CommandPipelineEnvironment::outputTarget(const CollectionName& name) const {
  using enum query::NamespaceUse;
  auto ns = namespaces_.find(name, kReplace);
  if (!ns.isOK()) ns = namespaces_.find(name, kUpdate);
  return ns.isOK() ? ns : namespaces_.find(name, kInsert);
}

StatusWith<storage::CollectionPtr> CommandPipelineEnvironment::target(const CollectionName& name) {
  TROUPE_ASSIGN(const auto ns, outputTarget(name));
  auto collection = server_.catalog.find(ns);
  if (!collection)
    return Status(ErrorCode::kNamespaceNotFound, "the target collection " + name.full() + " was dropped meanwhile");
  if (collection->isView())
    return Status(ErrorCode::kCommandNotSupportedOnView, "the target " + name.full() + " is a view");
  return collection;
}

StatusWith<std::unique_ptr<query::OutWriter>> CommandPipelineEnvironment::openOut(const CollectionName& name) {
  TROUPE_ASSIGN(const auto target, outputTarget(name));
  return OutCollection::open(*this, resources_, target, bypassesValidation_);
}

StatusWith<query::UniqueIndex> CommandPipelineEnvironment::uniqueIndex(const CollectionName& on,
                                                                       const std::vector<std::string>& fields) {
  if (fields == std::vector<std::string>{"_id"}) return query::UniqueIndex::kWhole;
  auto best = query::UniqueIndex::kNone;
  TROUPE_ASSIGN(const auto ns, outputTarget(on));
  const auto collection = server_.catalog.find(ns);
  if (!collection || collection->isView()) return best;
  for (const storage::IndexPtr& index : collection->indexes()) {
    const auto& spec = index->spec;
    const bool fits = index->ready && spec.isUnique() && !spec.partialFilter && spec.fields.size() == fields.size() &&
                      bson::Collator::same(index->access->collator(), resources_.context.collator) &&
                      std::all_of(spec.fields.begin(), spec.fields.end(), [&](const auto& field) {
                        return std::find(fields.begin(), fields.end(), field.path) != fields.end();
                      });
    if (fits) best = std::max(best, spec.sparse ? query::UniqueIndex::kWithoutNull : query::UniqueIndex::kWhole);
  }
  return best;
}

/// The validator of this version of the target.
StatusWith<const DocumentValidator*> CommandPipelineEnvironment::validatorOf(const storage::CollectionPtr& target) {
  if (validated_ != target) {
    TROUPE_ASSIGN(validator_, DocumentValidator::of(server_, *target, bypassesValidation_, resources_));
    validated_ = target;
  }
  return &validator_;
}

StatusWith<bool> CommandPipelineEnvironment::modifyOne(const CollectionName& in, bson::View filter,
                                                       const Change& change) {
  TROUPE_ASSIGN(const auto collection, target(in));
  TROUPE_ASSIGN(const auto match, query::parseMatch(filter, resources_.context));
  TROUPE_ASSIGN(const DocumentValidator* const validator, validatorOf(collection));
  storage::RecoveryUnit& unit = resources_.unit();
  bool found = false, changed = false;
  TROUPE_TRY(writeOnce(unit, [&]() -> Status {
    changed = false;
    TROUPE_ASSIGN(auto executor, query::openScan(collection, *match, {}, unit, resources_.context));
    TROUPE_ASSIGN(auto next, executor->next());
    while (!next.isDocument() && !next.isEnd()) {
      TROUPE_ASSIGN(next, executor->next());
    }
    found = next.isDocument();
    if (!found) return Status::OK();
    const bson::Document before(next.document);
    const auto id = executor->recordId();
    executor->save();
    TROUPE_ASSIGN(const auto after, change(before));
    if (!after || *after == before) return Status::OK();
    TROUPE_TRY(query::checkUpdated(before, *after));
    const bson::View replaced = before;
    TROUPE_TRY(validator->check(*after, &replaced));
    TROUPE_TRY(server_.disk.roomFor(after->view().size()));
    changed = true;
    return collection->update(unit, id, before, *after);
  }));
  if (!changed) resources_.operation->noteReliance();
  return found;
}

Status CommandPipelineEnvironment::insert(const CollectionName& into, bson::View document) {
  TROUPE_ASSIGN(const auto collection, target(into));
  std::deque<bson::Document> made;
  TROUPE_ASSIGN(const auto stored, documentToStore(document, server_, made, EmptyTimestamps::kFill));
  TROUPE_ASSIGN(const DocumentValidator* const validator, validatorOf(collection));
  TROUPE_TRY(validator->check(stored));
  TROUPE_TRY(server_.disk.roomFor(stored.size()));
  storage::RecoveryUnit& unit = resources_.unit();
  const Status inserted = writeOnce(unit, [&] { return collection->insert(unit, stored).status(); });
  if (inserted == ErrorCode::kDuplicateKey) resources_.operation->noteReliance();
  return inserted;
}

bool CommandPipelineEnvironment::mayTryAgain(const Status& failure) {
  if (!retry_) retry_.emplace(writer().newRetry());
  wait_ = retry_->next(failure);
  if (!wait_) retry_.reset();
  return wait_.has_value();
}

void CommandPipelineEnvironment::beginWrites() { resources_.unit().abandonSnapshot(); }

Status CommandPipelineEnvironment::endWrites() { return resources_.catalog().status(); }

Status CommandPipelineEnvironment::checkInterrupt() {
  return resources_.operation->checkForInterrupt(server_.node.environment().coarseNow());
}

}  // namespace troupe::commands
