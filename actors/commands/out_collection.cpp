#include "actors/commands/out_collection.hpp"

#include <algorithm>

#include "actors/commands/ddl_support.hpp"
#include "messaging/bson/ids.hpp"
#include "messaging/bson/json.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr auto kFailPoint = "hangOutBeforeReplacing";

/// Of those that are ready: what is being built is not copied, and its build ends with the collection that is replaced.
bool sameIndexes(const storage::Collection& a, const storage::Collection& b) {
  const auto specsOf = [](const storage::Collection& collection) {
    std::vector<bson::Document> specs;
    for (const auto& index : collection.indexes())
      if (index->ready) specs.push_back(index->spec.stored);
    return specs;
  };
  return specsOf(a) == specsOf(b);
}

}  // namespace

StatusWith<std::unique_ptr<query::OutWriter>> OutCollection::open(CommandPipelineEnvironment& environment,
                                                                  QueryResources& query, AuthorizedNamespace target,
                                                                  bool bypassValidation) {
  std::unique_ptr<OutCollection> out(new OutCollection(environment, query, std::move(target)));
  out->replaced_ = query.server.catalog.find(out->target_);
  if (const auto& replaced = out->replaced_; replaced && replaced->isCapped())
    return Status(ErrorCode(17152),
                  "namespace '" + out->target_.toString() + "' is capped so it can't be used for $out");
  if (const auto& replaced = out->replaced_; replaced && replaced->isView())
    return Status(ErrorCode::kCommandNotSupportedOnView, "cannot $out to a view: " + out->target_.toString());
  TROUPE_TRY(out->make());
  TROUPE_ASSIGN(out->validator_, DocumentValidator::of(query.server, *out->temporary_, bypassValidation, query));
  return std::unique_ptr<query::OutWriter>(std::move(out));
}

Status OutCollection::make() {
  TROUPE_TRY(server_.writes.roomFor ? CollectionWriter(server_.writes, *query_.operation).roomForTable()
                                    : Status::OK());
  const auto id = bson::randomUuid([this] { return server_.node.environment().random(); });
  const auto name = NamespaceResolution::temporaryOf(target_, "tmp.agg_out." + id.toString());
  storage::CollectionOptions options;
  if (replaced_) options = replaced_->options();
  options.uuid.reset();
  options.temp = true;
  TROUPE_TRY(environment_.writeOnce(query_.unit(), [&]() -> Status {
    TROUPE_ASSIGN(auto made, storage::createCollection(server_.catalog.unguarded(), query_.unit(), name, options));
    if (!replaced_) return Status::OK();
    return storage::copyIndexes(server_.catalog.unguarded(), query_.unit(), *replaced_, made).status();
  }));
  temporary_ = server_.catalog.find(name);
  return Status::OK();
}

OutCollection::~OutCollection() {
  if (!temporary_ || temporary_->superseded()) return;
  query_.unit().abandonSnapshot();
  try {
    storage::HeldLock lock(*query_.operation, storage::ResourceType::kCollection, temporary_->ns().toString(),
                           storage::LockMode::kX);
    const auto drop = [&] { return storage::dropCollection(server_.catalog.unguarded(), query_.unit(), temporary_); };
    Status dropped(ErrorCode::kLockBusy, "the collection is locked");
    if (lock.tryAcquire()) dropped = environment_.writeOnce(query_.unit(), drop);
    if (!dropped.isOK()) leaveTemporary(server_, *temporary_, dropped.reason());
  } catch (const std::exception& failure) {
    leaveTemporary(server_, *temporary_, failure.what());
  }
}

/// No lock is held on it at yields. A later version would be met by writes as a conflict that never ends.
Status OutCollection::checkTemporaryIsThere() const {
  if (!temporary_->superseded()) return Status::OK();
  return {ErrorCode::kQueryPlanKilled,
          "the temporary collection " + temporary_->ns().toString() + " of $out was dropped or changed meanwhile"};
}

Status OutCollection::insert(bson::View document) {
  TROUPE_TRY(checkTemporaryIsThere());
  std::deque<bson::Document> made;
  TROUPE_ASSIGN(const auto stored, documentToStore(document, server_, made, EmptyTimestamps::kFill));
  TROUPE_TRY(validator_.check(stored));
  TROUPE_TRY(server_.disk.roomFor(stored.size()));
  return environment_.writeOnce(query_.unit(), [&] { return temporary_->insert(query_.unit(), stored).status(); });
}

/// The temporary collection was made like the target. The target's lock was given up at each yield since.
Status OutCollection::checkTargetUnchanged() const {
  const auto now = server_.catalog.find(target_);
  if (now == replaced_) return Status::OK();
  const storage::CollectionOptions none;
  const auto& before = replaced_ ? replaced_->options() : none;
  const auto& after = now ? now->options() : none;
  if (!before.sameAs(after))
    return {ErrorCode::kCommandFailed,
            "collection options of target collection " + target_.toString() +
                " changed during processing. Original options: " + bson::toRelaxedJson(before.toDocument(false)) +
                ", new options: " + bson::toRelaxedJson(after.toDocument(false))};
  if (!replaced_ || !now || sameIndexes(*replaced_, *now)) return Status::OK();
  return {ErrorCode::kCommandFailed,
          "indexes of target collection " + target_.toString() + " changed during processing."};
}

Status OutCollection::finish() {
  TROUPE_TRY(checkTemporaryIsThere());
  // The pipeline meets a conflict for as long as the point is armed, and tries again after each pause.
  if (server_.failPoints.fires(kFailPoint)) return {ErrorCode::kWriteConflict, "held by a fail point"};
  TROUPE_TRY(checkTargetUnchanged());
  TROUPE_TRY(environment_.writeOnce(query_.unit(), [&] {
    return storage::renameCollection(server_.catalog.unguarded(), query_.unit(), temporary_, target_, true).status();
  }));
  temporary_.reset();
  return Status::OK();
}

}  // namespace troupe::commands
