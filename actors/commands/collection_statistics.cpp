// collStats, dbStats, dataSize, validate: figures and checks of collections.
#include <algorithm>
#include <optional>

#include "actors/commands/blocking_work.hpp"
#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/inspection.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/service_operation.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/validation/validate.hpp"

namespace troupe::commands {
using namespace server;

using storage::CollectionPtr;

namespace {

/// The log's limit is the member's own, and may change while it runs.
int64_t sizeLimit(const ServerContext& server, const storage::Collection& collection) {
  if (server.oplog && collection.ns() == storage::oplogName()) return server.oplog->markers().limits().maxBytes;
  return collection.options().cappedSize;
}

}  // namespace

bson::Document collectionStatistics(ServerContext& server, const storage::Collection& collection, int64_t scale) {
  bson::Builder b;
  if (collection.isView()) return b.finish();
  const auto& records = collection.records();
  const int64_t count = records.count(), bytes = records.dataBytes();
  const int64_t storageBytes = server.engine.tableBytes(records.table());
  const auto scaled = [scale](int64_t size) { return bson::narrowestInteger(size / scale); };
  b.append("size", scaled(bytes))
      .append("count", bson::narrowestInteger(count))
      .append("storageSize", scaled(storageBytes))
      .append("freeStorageSize", 0);
  if (count > 0) b.append("avgObjSize", bson::narrowestInteger(bytes / count));
  b.append("capped", collection.isCapped());
  if (collection.isCapped())
    b.append("max", bson::narrowestInteger(collection.options().cappedMax))
        .append("maxSize", scaled(sizeLimit(server, collection)));
  b.append("nindexes", static_cast<int32_t>(collection.indexes().size()));
  int64_t total = 0;
  b.openArray("indexBuilds");
  for (const auto& index : collection.indexes()) {
    if (!index->ready) b.push(index->spec.name);
  }
  b.close().openDocument("indexSizes");
  for (const auto& index : collection.indexes()) {
    const int64_t size = server.engine.tableBytes(index->access->table());
    total += size;
    b.append(index->spec.name, scaled(size));
  }
  b.close()
      .append("totalIndexSize", scaled(total))
      .append("totalSize", scaled(storageBytes + total))
      .append("scaleFactor", bson::narrowestInteger(scale));
  return b.finish();
}

std::vector<bson::Document> indexStatistics(ServerContext& server, const storage::Collection& collection) {
  std::vector<bson::Document> rows;
  for (const auto& index : collection.indexes()) {
    bson::Builder row;
    row.append("name", index->spec.name).append("key", index->spec.key).append("host", server.identity.host);
    row.append("accesses",
               bson::doc("ops", index->state->accesses.load(), "since", bson::Date{index->state->sinceMillis.load()}));
    row.append("spec", index->spec.stored);
    rows.push_back(row.finish());
  }
  return rows;
}

bson::Document catalogRow(const storage::Collection& collection) {
  bson::Builder row;
  row.append("db", collection.ns().db()).append("name", collection.ns().collection());
  if (collection.isView()) {
    row.append("type", "view").append("ns", collection.ns().toString()).append("viewOn", collection.options().viewOn);
    if (collection.options().pipeline) row.appendArray("pipeline", *collection.options().pipeline);
  } else {
    row.append("type", collection.options().timeseries ? "timeseries" : "collection")
        .appendAll(collection.toEntry().toDocument());
  }
  return row.finish();
}

namespace {

constexpr Argument kCollStatsArguments[] = {numberArg("scale")};

/// `code`: commands differ in it.
StatusWith<int64_t> scaleOf(const Request& request, ErrorCode code) {
  const int64_t scale = request.number("scale", 1);
  if (scale < 1)
    return Status(code, "BSON field 'scale' value must be >= 1, actual value '" + std::to_string(scale) + "'");
  return scale;
}

Task<Status> collStats(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  TROUPE_CO_ASSIGN(const auto scale, scaleOf(request, ErrorCode::kInvalidComparisonRange));
  const CollectionPtr collection = request.server().catalog.find(ns);
  if (collection && collection->isView())
    co_return Status(ErrorCode::kCommandNotSupportedOnView,
                     "Namespace " + ns.toString() + " is a view, not a collection");
  request.reply().append("ns", ns.toString());
  if (collection) {
    request.reply().appendAll(collectionStatistics(request.server(), *collection, scale));
  } else {
    request.reply()
        .append("size", 0)
        .append("count", 0)
        .append("storageSize", 0)
        .append("totalSize", 0)
        .append("nindexes", 0);
    request.reply().append("totalIndexSize", 0).append("indexSizes", bson::Document());
    request.reply().append("scaleFactor", bson::narrowestInteger(scale));
  }
  co_return Status::OK();
}

constexpr Argument kDbStatsArguments[] = {numberArg("scale"), flagArg("freeStorage")};

Task<Status> dbStats(Request& request) {
  TROUPE_CO_ASSIGN(const auto scale, scaleOf(request, ErrorCode::kBadValue));
  ServerContext& server = request.server();
  int64_t collections = 0, views = 0, objects = 0, dataSize = 0, storageSize = 0, indexes = 0, indexSize = 0;
  int64_t free = 0, indexFree = 0;
  const bool wantsFree = request.flag("freeStorage");
  for (const auto& collection : server.catalog.collections(NamespaceResolution::targetDatabase(request))) {
    if (collection->isView()) {
      ++views;
      continue;
    }
    ++collections;
    objects += collection->records().count();
    dataSize += collection->records().dataBytes();
    storageSize += server.engine.tableBytes(collection->records().table());
    if (wantsFree) free += server.engine.freeBytes(collection->records().table());
    for (const auto& index : collection->indexes()) {
      ++indexes;
      indexSize += server.engine.tableBytes(index->access->table());
      if (wantsFree) indexFree += server.engine.freeBytes(index->access->table());
    }
  }
  bson::Builder& reply = request.reply();
  reply.append("db", request.db()).append("collections", collections).append("views", views).append("objects", objects);
  reply.append("avgObjSize", objects > 0 ? static_cast<double>(dataSize) / static_cast<double>(objects) : 0.0);
  reply.append("dataSize", static_cast<double>(dataSize / scale))
      .append("storageSize", static_cast<double>(storageSize / scale));
  reply.append("indexes", indexes).append("indexSize", static_cast<double>(indexSize / scale));
  if (wantsFree)
    reply.append("freeStorageSize", static_cast<double>(free / scale))
        .append("indexFreeStorageSize", static_cast<double>(indexFree / scale))
        .append("totalFreeStorageSize", static_cast<double>((free + indexFree) / scale));
  reply.append("totalSize", static_cast<double>((storageSize + indexSize) / scale)).append("scaleFactor", scale);
  co_return Status::OK();
}

const auth::ActionSet kFind = auth::actions({auth::Action::kFind});

constexpr Argument kDataSizeArguments[] = {documentArg("keyPattern"), documentArg("min"), documentArg("max"),
                                           flagArg("estimate")};

/// The name, and that a range has both ends and a key.
Status checkDataSize(const Request& request) {
  const bson::Element name = request.body().first();
  if (name.isNullish())
    return {ErrorCode::kMissingRequiredField, "BSON field 'dataSize.dataSize' is missing but a required field"};
  if (!name.is(bson::Type::kString))
    return {ErrorCode::kTypeMismatch, "BSON field 'dataSize.dataSize' is the wrong type '" +
                                          std::string(bson::typeName(name.type())) + "', expected type 'string'"};
  const bool min = request.arg("min").ok(), max = request.arg("max").ok();
  if (min != max) return {ErrorCode::kBadValue, "dataSize takes both 'min' and 'max', or neither"};
  if (min && !request.arg("keyPattern"))
    return {ErrorCode::kOperationFailed, "dataSize of a range takes the 'keyPattern' of an index"};
  return Status::OK();
}

Task<Status> dataSize(Request& request) {
  TROUPE_CO_TRY(checkDataSize(request));
  if (request.arg("min") || request.arg("max"))
    co_return Status(ErrorCode::kCommandNotSupported, "dataSize of a range is not supported: leave min and max out");
  TROUPE_CO_ASSIGN(auto named, storage::Namespace::parse(request.body().first().toStringOr()));
  TROUPE_CO_ASSIGN(const auto ns, NamespaceResolution::resolve(request, std::move(named), kFind));
  const CollectionPtr collection = request.server().catalog.find(ns);
  if (collection && collection->isView())
    co_return Status(ErrorCode::kCommandNotSupportedOnView,
                     "Namespace " + ns.toString() + " is a view, not a collection");
  request.reply()
      .append("size", collection ? collection->records().dataBytes() : int64_t{0})
      .append("numObjects", collection ? collection->records().count() : int64_t{0});
  request.reply().append("millis", 0).append("estimate", true);
  co_return Status::OK();
}

constexpr Argument kValidateArguments[] = {
    anyArg("full"),     anyArg("background"),           anyArg("repair"),
    anyArg("metadata"), anyArg("checkBSONConformance"), anyArg("fixMultikey"),
    kAnyOtherArgs,  // older clients send what 4.2 knew
};

/// A validation under way. Its snapshot stays open between its pieces, which are done one after the other. What it
/// needs locked is its own operation's, so that the lock is held until the last piece has really ended.
struct Validation {
  Validation(ServerContext& server, const storage::Namespace& ns, bson::Document command)
      : operation(server, "validate " + ns.toString(), ns, std::move(command)) {}
  ServiceOperation operation;
  storage::HeldLock lock;
  std::optional<storage::Validator> validator;
  bool done = false;
};

std::shared_ptr<storage::OperationContext> operationOf(const std::shared_ptr<Validation>& validation) {
  return {validation, &*validation->operation};
}

/// No change of the role waits for it: what a validation writes is the node's own, and its reads are checked once they
/// have their snapshot.
storage::HeldLock lockOf(storage::OperationContext& operation, const storage::Namespace& ns, bool background) {
  using storage::HeldLock;
  using enum storage::ResourceType;
  return background ? HeldLock::inEveryRole(operation, kGlobal, {}, storage::LockMode::kIS)
                    : HeldLock::inEveryRole(operation, kCollection, ns.toString(), storage::LockMode::kX);
}

/// Goes on until so many more bytes were read, or to the end. Made outside of the coroutine: g++ 12 destroys the
/// captures of a lambda that is written in one twice.
BlockingBody pieceOf(std::shared_ptr<Validation> validation, int64_t bytes) {
  constexpr int kRowsPerStep = 500;
  return [validation, bytes](storage::OperationContext& operation) -> Status {
    storage::Validator& validator = *validation->validator;
    const int64_t until = validator.bytesRead() + bytes;
    do {
      TROUPE_TRY(operation.checkForInterrupt({}));
      TROUPE_ASSIGN(validation->done, validator.step(operation.recoveryUnit(), kRowsPerStep));
    } while (!validation->done && validator.bytesRead() < until);
    return Status::OK();
  };
}

/// Runs it to its end, not faster than `bytesPerSecond` (0: as fast as it can).
Task<Status> runValidation(Request& request, std::shared_ptr<Validation> validation, int64_t bytesPerSecond) {
  constexpr int64_t kPiece = 8 * 1024 * 1024;
  constexpr int64_t kPiecesPerSecond = 10;
  Node& node = request.server().node;
  const TimePoint begun = node.environment().now();
  while (!validation->done) {
    const int64_t piece = bytesPerSecond > 0 ? bytesPerSecond / kPiecesPerSecond : kPiece;
    TROUPE_CO_TRY(co_await runBlocking(request, operationOf(validation), "validate " + request.operation().ns.text(),
                                       WorkLength::kLong, pieceOf(validation, piece)));
    TROUPE_CO_TRY(request.checkForInterrupt());
    if (bytesPerSecond == 0 || validation->done) continue;
    const auto owed = std::chrono::milliseconds(validation->validator->bytesRead() * 1000 / bytesPerSecond);
    const auto taken = std::chrono::duration_cast<std::chrono::milliseconds>(node.environment().now() - begun);
    if (owed > taken) TROUPE_CO_TRY(co_await writerOf(request).pause(owed - taken));
  }
  co_return Status::OK();
}

/// Options of which each alone is fine. What one of them is makes no difference: anything but zero, false and null is
/// true.
Status checkValidate(const Request& request) {
  constexpr std::pair<const char*, const char*> kExclusive[] = {
      {"background", "full"},     {"background", "repair"}, {"checkBSONConformance", "repair"},
      {"metadata", "full"},       {"metadata", "repair"},   {"metadata", "checkBSONConformance"},
      {"metadata", "background"},
  };
  for (const auto& [one, other] : kExclusive)
    if (request.flag(one) && request.flag(other))
      return {ErrorCode::kInvalidOptions, "Running the validate command with { " + std::string(one) +
                                              ": true } and { " + other + ": true } is not supported."};
  return Status::OK();
}

/// What can be said without looking at documents and keys: that the catalog's description can be read.
bson::Document validateMetadata(const storage::Collection& collection) {
  storage::ValidateResult result;
  result.ns = collection.ns().toString();
  result.uuid = collection.uuid();
  result.countsDocuments = false;
  for (const auto& index : collection.indexes()) {
    storage::IndexFindings& findings = result.indexes[index->spec.name];
    findings.name = index->spec.name;
    findings.spec = index->spec.stored;
    if (const auto parsed = storage::parseIndexSpec(index->spec.stored); !parsed.isOK()) {
      findings.errors.push_back(parsed.status().reason());
      findings.valid = result.valid = false;
    }
  }
  return result.toDocument();
}

Task<Status> validate(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  TROUPE_CO_TRY(checkValidate(request));
  const bool background = request.flag("background");
  if (request.flag("repair")) TROUPE_CO_TRY(checkRoleForWriting(request, ns.db()));
  ServerContext& server = request.server();
  const auto validation = std::make_shared<Validation>(server, ns, bson::Document(request.body()));
  validation->lock = lockOf(*validation->operation, ns, background);
  TROUPE_CO_TRY(co_await lockForWork(request, operationOf(validation), validation->lock));
  // The collection is that of the snapshot which will be read: its indexes fit the documents (RDS-006).
  TROUPE_CO_ASSIGN(const CatalogReader catalog, server.catalog.read(validation->operation->recoveryUnit()));
  if (server.membership) TROUPE_CO_TRY(checkRole(request));  // as of the snapshot
  TROUPE_CO_ASSIGN(const CollectionPtr collection, catalog.find(ns));
  if (!collection)
    co_return Status(ErrorCode::kNamespaceNotFound, "Collection '" + ns.toString() + "' does not exist to validate.");
  if (collection->isView()) co_return Status(ErrorCode::kCommandNotSupportedOnView, "Cannot validate a view");
  if (request.flag("metadata")) {
    request.reply().appendAll(validateMetadata(*collection));
    co_return Status::OK();
  }
  storage::ValidateSettings settings;
  settings.full = request.flag("full");
  settings.checkDocuments = settings.full || request.flag("checkBSONConformance");
  settings.repair = request.flag("repair");
  settings.fixCount = !background;
  validation->validator.emplace(server.catalog.unguarded(), collection, settings);
  const int64_t limit = background ? server.parameters.maxValidateMBperSec * 1024 * 1024 : 0;
  const Status status = co_await runValidation(request, validation, limit);
  if (settings.repair) validation->validator->result().repairMode = "FixErrors";
  if (status.isOK()) request.reply().appendAll(validation->validator->result().toDocument());
  co_return status;
}

constexpr Command kStatisticsCommands[] = {
    {.name = "collStats",
     .alias = "collstats",
     .summary = "sizes and counts of a collection",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCollStats},
     .access = Access::kRead,
     .namesCollection = true,
     .arguments = kCollStatsArguments,
     .run = collStats},
    {.name = "dbStats",
     .alias = "dbstats",
     .summary = "sizes and counts of a database",
     .requirement = {Requirement::Target::kDatabase, auth::Action::kDbStats},
     .access = Access::kRead,
     .arguments = kDbStatsArguments,
     .run = dbStats},
    {.name = "dataSize",
     .summary = "bytes of a collection's documents",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kRead,
     .arguments = kDataSizeArguments,
     .run = dataSize},
    {.name = "validate",
     .summary = "checks that documents and indexes agree",
     .requirement = {Requirement::Target::kCollection, auth::Action::kValidate},
     .access = Access::kRead,
     .namesCollection = true,
     .arguments = kValidateArguments,
     .run = validate},
};

}  // namespace

std::span<const Command> statisticsCommands() { return kStatisticsCommands; }

}  // namespace troupe::commands
