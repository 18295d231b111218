// dbHash: digests of collections, by which the copies of members can be compared.
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "actors/commands/blocking_work.hpp"
#include "actors/commands/families.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/role_check.hpp"
#include "messaging/auth/md5.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/index/index_access.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;

namespace {

/// All collections of one snapshot, document by document. It is a chain of short pieces of work on the threads of
/// blocking work.
class DatabaseHash {
 public:
  explicit DatabaseHash(ServerContext& server) : reading_(server), environment_(server.node.environment()) {}
  /// Those of the snapshot that the operation holds.
  void begin(std::vector<CollectionPtr> collections) { left_ = std::move(collections); }

  storage::OperationContext& operation() { return reading_.operation; }
  storage::HeldLock& lock() { return reading_.lock; }
  bool isDone() const { return left_.empty(); }

  Status step() {
    const storage::Collection& collection = *left_.back();
    if (!digest_) TROUPE_TRY(open(collection));
    PieceLimit limit(environment_);
    for (int64_t bytes = 0; !limit.reached(bytes); bytes = records_->document().size()) {
      TROUPE_TRY(operation().checkForInterrupt({}));
      TROUPE_ASSIGN(const bool found, next());
      if (!found) {
        digests_[std::string(collection.ns().collection())] = digest_->finish();
        digest_.reset();
        keys_.reset();
        records_.reset();
        left_.pop_back();
        return Status::OK();
      }
      digest_->add(records_->document().bytes());
    }
    return Status::OK();
  }
  const std::map<std::string, std::string, std::less<>>& digests() const { return digests_; }

 private:
  /// By `_id`, but the order of a capped collection is part of its contents.
  Status open(const storage::Collection& collection) {
    digest_.emplace();
    TROUPE_ASSIGN(auto records, collection.records().cursor(operation().recoveryUnit()));
    records_.emplace(std::move(records));
    if (collection.isCapped() || !collection.idIndex()) return Status::OK();
    TROUPE_ASSIGN(auto keys, collection.idIndex()->access->cursor(operation().recoveryUnit()));
    keys_.emplace(std::move(keys));
    return Status::OK();
  }
  StatusWith<bool> next() {
    if (!keys_) return records_->next();
    TROUPE_ASSIGN(const bool found, keys_->next());
    if (!found) return false;
    TROUPE_ASSIGN(const bool there, records_->seekExact(keys_->id()));
    if (!there)
      return Status(ErrorCode::kDataCorruptionDetected, "the _id index of " + left_.back()->ns().toString() +
                                                            " names a document that is missing: run validate");
    return true;
  }

  ReadingWork reading_;
  const Environment& environment_;
  std::vector<CollectionPtr> left_;
  std::optional<auth::Md5> digest_;
  std::optional<storage::RecordCursor> records_;
  std::optional<storage::IndexCursor> keys_;
  std::map<std::string, std::string, std::less<>> digests_;
};

std::shared_ptr<storage::OperationContext> operationOf(const std::shared_ptr<DatabaseHash>& hash) {
  return {hash, &hash->operation()};
}

BlockingBody stepOf(std::shared_ptr<DatabaseHash> hash) {
  return [hash](storage::OperationContext&) { return hash->step(); };
}

/// The names that the command asks for; empty: all. What is no array asks for nothing.
StatusWith<std::set<std::string, std::less<>>> wantedNames(const Request& request) {
  std::set<std::string, std::less<>> names;
  const auto given = request.arg("collections");
  if (!given.is(bson::Type::kArray)) return names;
  for (const bson::Element& e : given.asArray()) {
    if (!e.is(bson::Type::kString)) return Status(ErrorCode::kBadValue, "collections entries have to be strings");
    names.emplace(e.asString());
  }
  return names;
}

/// The right to hash the database does not reach its system collections: those the client may not hash are left out,
/// and refused where they are named, whether they exist or not.
StatusWith<std::vector<CollectionPtr>> collectionsToHash(Request& request, const CatalogReader& catalog) {
  TROUPE_ASSIGN(const auto wanted, wantedNames(request));
  for (const std::string& name : wanted) {
    const storage::Namespace ns(request.db(), name);
    if (ns.isSystem())
      TROUPE_TRY(NamespaceResolution::resolve(request, ns, auth::actions({auth::Action::kDbHash})).status());
  }
  TROUPE_ASSIGN(auto collections, catalog.collections(NamespaceResolution::targetDatabase(request)));
  std::erase_if(collections, [&](const CollectionPtr& collection) {
    const auto name = collection->ns().collection();
    return collection->isView() || name == "system.profile" || (!wanted.empty() && !wanted.contains(name)) ||
           !NamespaceResolution::coversCollection(request, auth::Action::kDbHash, collection->ns());
  });
  return collections;
}

Task<Status> dbHash(Request& request) {
  ServerContext& server = request.server();
  const TimePoint begun = server.node.environment().now();
  const auto hash = std::make_shared<DatabaseHash>(server);
  TROUPE_CO_TRY(co_await lockForWork(request, operationOf(hash), hash->lock()));
  TROUPE_CO_ASSIGN(const CatalogReader catalog, server.catalog.read(hash->operation().recoveryUnit()));
  if (server.membership) TROUPE_CO_TRY(checkRole(request));  // as of the snapshot
  TROUPE_CO_ASSIGN(const auto collections, collectionsToHash(request, catalog));
  hash->begin(collections);
  while (!hash->isDone()) {
    TROUPE_CO_TRY(co_await runBlocking(request, operationOf(hash), "dbHash", WorkLength::kBackground, stepOf(hash)));
    TROUPE_CO_TRY(request.checkForInterrupt());
  }
  bson::Builder& reply = request.reply();
  reply.append("host", server.identity.host).openDocument("collections");
  auth::Md5 all;
  for (const auto& [name, digest] : hash->digests()) {
    reply.append(name, digest);
    all.add(name);
    all.add(digest);
  }
  reply.close().openArray("capped");
  for (const auto& collection : collections)
    if (collection->isCapped()) reply.push(collection->ns().collection());
  reply.close().openDocument("uuids");
  for (const auto& collection : collections) reply.append(collection->ns().collection(), collection->uuid());
  reply.close().append("md5", all.finish());
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(server.node.environment().now() - begun);
  reply.append("timeMillis", bson::narrowestInteger(took.count()));
  co_return Status::OK();
}

/// Fields it does not know are passed over, as tools of other versions expect.
constexpr Argument kDbHashArguments[] = {anyArg("collections"), kAnyOtherArgs};

constexpr Command kDatabaseHashCommands[] = {
    {.name = "dbHash",
     .alias = "dbhash",
     .summary = "digests of a database's collections, for comparing members",
     .requirement = {Requirement::Target::kDatabase, auth::Action::kDbHash},
     .access = Access::kRead,
     .arguments = kDbHashArguments,
     .run = dbHash},
};

}  // namespace

std::span<const Command> databaseHashCommands() { return kDatabaseHashCommands; }

}  // namespace troupe::commands
