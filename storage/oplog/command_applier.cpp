// What an applier does with commands: operation_applier.hpp.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "storage/catalog/catalog_operations.hpp"
#include "storage/catalog/catalog_view.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/oplog/logged_modification.hpp"
#include "storage/oplog/operation_applier.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

std::string_view databaseOf(const LoggedOperation& operation) { return operation.ns.substr(0, operation.ns.find('.')); }

Status notThere(const LoggedOperation& operation, std::string_view name) {
  return {ErrorCode::kNamespaceNotFound, std::string("the data of this node are not those of the log: there is no ") +
                                             (operation.uuid ? "" : "view ") + std::string(databaseOf(operation)) +
                                             "." + std::string(name)};
}

/// As the catalog has stored it on the primary.
StatusWith<std::vector<IndexSpec>> specsOf(const std::vector<bson::Document>& stored) {
  std::vector<IndexSpec> specs;
  for (const bson::Document& each : stored) {
    TROUPE_ASSIGN(auto spec, parseIndexSpec(each, {}, false));
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// The name that the command gives to a collection or view.
std::optional<Namespace> nameTaken(const LoggedOperation& operation, const LoggedCommand& command) {
  if (const auto* create = std::get_if<LoggedCreate>(&command))
    return Namespace(databaseOf(operation), create->collection);
  if (const auto* rename = std::get_if<LoggedRename>(&command)) return Namespace::split(rename->to);
  return std::nullopt;
}

/// The collection itself, or the one that the command drops, is not in its way; a view always is.
bool mayHold(const Collection& holder, const LoggedOperation& operation, const std::optional<bson::Uuid>& dropped) {
  if (holder.isView()) return false;
  return holder.uuid() == operation.uuid || holder.uuid() == dropped;
}

/// By its records: counters may be of another time than the data.
StatusWith<bool> isEmpty(RecoveryUnit& unit, const Collection& collection) {
  TROUPE_ASSIGN(RecordCursor cursor, collection.records().cursor(unit));
  TROUPE_ASSIGN(const bool found, cursor.next());
  return !found;
}

/// How a change of an index is refused that has gone since, or whose name a later index has.
bool isOfAnotherIndex(const Status& refused) {
  return refused == ErrorCode::kIndexNotFound || refused == ErrorCode::kInvalidOptions ||
         refused == ErrorCode::kCannotConvertIndexToUnique || refused == ErrorCode::kCannotCreateIndex;
}

}  // namespace

StatusWith<CollectionPtr> OperationApplier::target(RecoveryUnit& unit, const LoggedOperation& operation,
                                                   std::string_view name) const {
  TROUPE_ASSIGN(CatalogView* const view, CatalogView::open(catalog_, unit));
  if (operation.uuid) return view->find(*operation.uuid);
  // Views alone have no UUID. A collection of that name has come later, and its documents may not be in the log.
  TROUPE_ASSIGN(CollectionPtr named, view->find(Namespace(databaseOf(operation), name)));
  return named && named->isView() ? std::move(named) : nullptr;
}

Status OperationApplier::applyCommand(RecoveryUnit& unit, const LoggedOperation& operation,
                                      const LoggedCommand& command) const {
  return std::visit([&](const auto& each) { return run(unit, operation, each); }, command);
}

Status OperationApplier::clearTheWay(RecoveryUnit& unit, const LoggedOperation& operation,
                                     const LoggedCommand& command) const {
  const auto name = nameTaken(operation, command);
  if (!isReplay() || !name) return Status::OK();
  WriteUnitOfWork work(unit);
  TROUPE_ASSIGN(CatalogView* const view, CatalogView::open(catalog_, unit));
  TROUPE_ASSIGN(const CollectionPtr holder, view->find(*name));
  const auto* rename = std::get_if<LoggedRename>(&command);
  if (!holder || mayHold(*holder, operation, rename ? rename->dropTarget : std::nullopt)) return Status::OK();
  if (holder->isView()) {
    TROUPE_TRY(dropCollection(catalog_, unit, holder));
  } else {
    const Namespace aside(name->db(), "tmp.replayed." + holder->uuid().toString());
    TROUPE_TRY(renameCollection(catalog_, unit, holder, aside, false).status());
  }
  return work.commit();
}

Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedCreate& create) const {
  const Namespace ns(databaseOf(operation), create.collection);
  TROUPE_ASSIGN(auto options, parseCollectionOptions(create.options, true));
  options.uuid = operation.uuid;
  TROUPE_ASSIGN(const CollectionPtr existing, target(unit, operation, create.collection));
  if (existing && existing->ns() == ns && (operation.uuid || existing->options().sameAs(options))) return Status::OK();
  if (existing && operation.uuid && isReplay())  // it had made room for an earlier holder of its name
    return renameCollection(catalog_, unit, existing, ns, false).status();
  return createCollection(catalog_, unit, ns, std::move(options)).status();
}

Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedDrop& drop) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, drop.collection));
  if (!collection) return missing(notThere(operation, drop.collection));
  return dropCollection(catalog_, unit, collection);
}

/// The names are whole; the target that goes is known by its UUID.
Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedRename& rename) const {
  const Namespace to = Namespace::split(rename.to);
  TROUPE_ASSIGN(CatalogView* const view, CatalogView::open(catalog_, unit));
  CollectionPtr replaced;
  if (rename.dropTarget) {
    TROUPE_ASSIGN(replaced, view->find(*rename.dropTarget));
  }
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, Namespace::split(rename.from).collection()));
  if (!collection || collection->ns() == to) {
    if (!collection) TROUPE_TRY(missing(notThere(operation, rename.from)));
    return replaced && isReplay() ? dropCollection(catalog_, unit, replaced) : Status::OK();
  }
  if (replaced && replaced->ns() != to && isReplay()) TROUPE_TRY(dropCollection(catalog_, unit, replaced));
  return renameCollection(catalog_, unit, collection, to, replaced && replaced->ns() == to).status();
}

Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedModify& modify) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, modify.collection));
  if (!collection) return missing(notThere(operation, modify.collection));
  TROUPE_ASSIGN(CollectionChange change, changeOf(modify.change));
  const bool isLeftOut = !change.index.empty() && leavesOut(*collection, change.index);
  if (!isLeftOut) {
    const Status done = modifyCollection(catalog_, unit, collection, change).status();
    if (change.index.empty() || !isReplay() || !isOfAnotherIndex(done)) return done;
  }
  change.index.clear();  // the rest of the change counts, and its row takes the place of one that was written before
  change.indexChange = {};
  return modifyCollection(catalog_, unit, collection, change).status();
}

/// Its collections have been dropped by entries of their own; views and what a replay has put aside may be left.
Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedDropDatabase&) const {
  return dropDatabase(catalog_, unit, databaseOf(operation));
}

Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation,
                             const LoggedCreateIndex& create) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, create.collection));
  if (!collection) return missing(notThere(operation, create.collection));
  TROUPE_ASSIGN(const IndexSpec spec, parseIndexSpec(create.spec, {}, false));
  if (collection->findIndex(spec.name)) return Status::OK();
  if (!spec.idIndex && leavesOut(*collection, spec.name)) return Status::OK();
  TROUPE_ASSIGN(const bool empty, isEmpty(unit, *collection));
  if (empty) return createEmptyIndex(catalog_, unit, collection, spec).status();
  return {ErrorCode::kIllegalOperation,
          "the data of this node are not those of the log: " + collection->ns().toString() + " is not empty"};
}

Status OperationApplier::buildIndex(RecoveryUnit& unit, const LoggedOperation& operation,
                                    const LoggedCreateIndex& create) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, create.collection));
  TROUPE_ASSIGN(IndexSpec spec, parseIndexSpec(create.spec, {}, false));
  bool isNeeded = collection && !collection->findIndex(spec.name) && !leavesOut(*collection, spec.name);
  if (isNeeded) {
    TROUPE_ASSIGN(const bool empty, isEmpty(unit, *collection));
    isNeeded = !empty;
  }
  unit.abandonSnapshot();
  if (!isReplay() || !isNeeded) return inUnit(unit, operation, create);
  IndexBuilder builder(catalog_, collection->ns(), {std::move(spec)});
  TROUPE_TRY(builder.start(unit));
  builder.takeUp(collection->uuid());
  return builder.finish(unit);
}

Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation, const LoggedDropIndex& drop) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, drop.collection));
  if (!collection) return missing(notThere(operation, drop.collection));
  if (leavesOut(*collection, drop.index)) return Status::OK();
  const Status done = dropIndexes(catalog_, unit, collection, {drop.index}).status();
  return done == ErrorCode::kIndexNotFound ? missing(done) : done;
}

Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation,
                             const LoggedTruncate& truncate) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, truncate.collection));
  if (!collection) return missing(notThere(operation, truncate.collection));
  return collection->truncate(unit);
}

Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation&, const LoggedGroup& group) const {
  for (const bson::Document& document : group.operations) {
    TROUPE_ASSIGN(const auto operation, LoggedOperation::parse(document));
    TROUPE_TRY(applyWithin(unit, operation));
  }
  return Status::OK();
}

/// Start and abort; a group holds no commit.
Status OperationApplier::run(RecoveryUnit& unit, const LoggedOperation& operation,
                             const LoggedIndexBuild& build) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, build.collection));
  if (build.step == LoggedIndexBuild::Step::kCommit)
    return {ErrorCode::kFailedToParse, "oplog entry: a group must not hold the commit of an index build"};
  if (!collection) return missing(notThere(operation, build.collection));
  if (build.step == LoggedIndexBuild::Step::kAbort)
    return takeBuildOut(catalog_, unit, collection, build.build).status();
  TROUPE_ASSIGN(auto specs, specsOf(build.specs));
  std::erase_if(specs, [&](const IndexSpec& spec) {
    return collection->findIndex(spec.name) || leavesOut(*collection, spec.name);
  });
  if (specs.empty()) return Status::OK();
  return IndexBuilder(catalog_, collection->ns(), std::move(specs), build.build).start(unit);
}

Status OperationApplier::commitBuild(RecoveryUnit& unit, const LoggedOperation& operation,
                                     const LoggedIndexBuild& build) const {
  TROUPE_ASSIGN(const CollectionPtr collection, target(unit, operation, build.collection));
  unit.abandonSnapshot();
  if (!collection) return missing(notThere(operation, build.collection));
  TROUPE_ASSIGN(auto specs, specsOf(build.specs));
  std::vector<IndexSpec> unfinished;
  for (IndexSpec& spec : specs) {
    const IndexEntry* index = collection->findIndex(spec.name);
    if (leavesOut(*collection, spec.name)) continue;
    if (!index)
      TROUPE_TRY(missing({ErrorCode::kIndexNotFound, "the build of the index " + spec.name + " has not been started"}));
    else if (!index->ready && index->buildUuid == build.build) unfinished.push_back(std::move(spec));
  }
  if (unfinished.empty()) return Status::OK();
  IndexBuilder builder(catalog_, collection->ns(), std::move(unfinished), build.build);
  builder.takeUp(collection->uuid());
  return builder.finish(unit, true);
}

}  // namespace troupe::storage
