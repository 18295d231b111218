#include "actors/replication/data_cloner.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "messaging/errors/co_status.hpp"
#include "storage/oplog/copied_data.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::replication {

using storage::CollectionPtr;
using storage::OperationContext;
using storage::RecoveryUnit;

namespace {

bson::Date wallOf(const CopyParts& parts) {
  const auto wall = parts.node->environment().wallNow().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()};
}

/// No version of what goes may be later; it must be later than the stable time of an earlier life, and no older than
/// the oldest time of an earlier attempt.
StatusWith<bson::Timestamp> timeOfReset(const CopyParts& parts) {
  OperationContext operation({.sessions = parts.services.sessions}, storage::OperationOrigin::kApplier);
  TROUPE_ASSIGN(const auto newest, parts.log->newest(operation.recoveryUnit()));
  storage::Engine& engine = parts.catalog->engine();
  const uint64_t stable = engine.stableTimestamp().asUint64();
  return std::max({newest.value_or(bson::Timestamp{}), bson::Timestamp::fromUint64(stable + 1),
                   engine.oldestTimestamp(), bson::Timestamp{1, 1}});
}

std::vector<CollectionPtr> replicatedCollections(const storage::Catalog& catalog) {
  std::vector<CollectionPtr> all;
  const auto snapshot = catalog.snapshot();
  for (const std::string& database : snapshot->databases())
    for (const CollectionPtr& collection : snapshot->collections(database))
      if (collection->ns().isReplicated()) all.push_back(collection);
  return all;
}

std::function<Status(RecoveryUnit&)> dropping(storage::Catalog& catalog, const storage::Namespace& ns) {
  return [&catalog, ns](RecoveryUnit& unit) { return storage::dropCopied(catalog, unit, ns); };
}

Status clearLog(const CopyParts& parts) {
  OperationContext operation({.sessions = parts.services.sessions}, storage::OperationOrigin::kApplier);
  return parts.log->clear(operation.recoveryUnit());
}

Task<Status> cloneCollections(std::shared_ptr<SyncAttempt> attempt, std::string database) {
  const CopyParts& parts = attempt->parts;
  bson::Document list = bson::doc("listCollections", 1, "$readPreference", bson::doc("mode", "secondaryPreferred"));
  TROUPE_CO_ASSIGN(const auto rows, co_await listOfSource(attempt, database, std::move(list)));
  std::vector<ListedCollection> listed;
  for (const bson::Document& row : rows) {
    TROUPE_CO_ASSIGN(auto one, ListedCollection::parse(database, row));
    if (one.ns.isReplicated()) listed.push_back(std::move(one));
  }
  parts.status->beginDatabase(database, static_cast<int64_t>(listed.size()), wallOf(parts));
  for (ListedCollection& one : listed) {
    if (parts.beforeStep) parts.beforeStep();
    const auto cloner = std::make_shared<CollectionCloner>(attempt, std::move(one));
    TROUPE_CO_TRY(co_await cloner->run());
  }
  parts.status->endDatabase(database, wallOf(parts));
  co_return Status::OK();
}

}  // namespace

/// The log goes last: its newest entry says which time the drops must have.
Task<Status> resetData(std::shared_ptr<SyncAttempt> attempt) {
  const CopyParts& parts = attempt->parts;
  TROUPE_CO_ASSIGN(attempt->at, timeOfReset(parts));
  for (const CollectionPtr& collection : replicatedCollections(*parts.catalog)) {
    auto drop = dropping(*parts.catalog, collection->ns());
    CopyWrite to{collection->ns(), storage::LockMode::kX, std::nullopt};
    TROUPE_CO_TRY(co_await writeCopied(attempt, std::move(to), std::move(drop)));
    co_await parts.node->nextTurn();
  }
  if (attempt->isAbandoned()) co_return Status(ErrorCode::kInterrupted, "the attempt is over");
  co_return clearLog(parts);
}

Task<Status> cloneData(std::shared_ptr<SyncAttempt> attempt) {
  const CopyParts& parts = attempt->parts;
  bson::Document list = bson::doc("listDatabases", 1, "$readPreference", bson::doc("mode", "secondaryPreferred"));
  TROUPE_CO_ASSIGN(const auto reply, co_await askSource(attempt, "admin", std::move(list)));
  std::vector<std::string> databases;
  const bson::Element listed = reply.view()["databases"];
  if (!listed.is(bson::Type::kArray))
    co_return Status(ErrorCode::kFailedToParse, attempt->source + " does not list its databases");
  for (const bson::Element& row : listed.asArray()) {
    const std::string name(row.asDocument()["name"].toStringOr());
    if (name.empty() || name == "local") continue;
    parts.status->addDatabase(name, row.asDocument()["sizeOnDisk"].toInt64());
    databases.push_back(name);
  }
  // With it come users: from then on an operator may log in and watch the rest.
  std::ranges::stable_partition(databases, [](const std::string& name) { return name == "admin"; });
  for (const std::string& database : databases) {
    if (parts.beforeStep) parts.beforeStep();
    TROUPE_CO_TRY(co_await cloneCollections(attempt, database));
  }
  co_return Status::OK();
}

}  // namespace troupe::replication
