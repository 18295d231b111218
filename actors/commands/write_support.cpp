#include "actors/commands/write_support.hpp"

#include "messaging/bson/ids.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe::commands {

using storage::CollectionPtr;
using storage::HeldLock;
using storage::LockMode;
using storage::Namespace;

Status checkUserWrite(const Namespace& ns) {
  if (!ns.isSystem()) return Status::OK();
  const auto name = ns.collection();
  if (name == "system.js" || name == "system.users" || name == "system.version" || name == "system.roles" ||
      name.starts_with("system.buckets."))
    return Status::OK();
  return {ErrorCode::kInvalidNamespace, "cannot write to '" + ns.toString() + "'"};
}

Task<Status> createIfMissing(Request& request, Namespace ns) {
  ServerContext& server = request.server();
  if (Status status = storage::validateForCreate(ns); !status.isOK()) co_return status;
  if (server.catalog.find(ns)) co_return Status::OK();  // the usual case waits for nobody
  const auto lock = co_await lockCollection(server.node, request.operation(), ns, LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  if (server.catalog.find(ns)) co_return Status::OK();
  if (Status status = server.disk.roomFor(kTableBytes); !status.isOK()) co_return status;
  storage::RecoveryUnit& unit = request.operation().recoveryUnit();
  unit.abandonSnapshot();
  auto create = [&]() -> Status { return storage::createCollection(server.catalog, unit, ns, {}).status(); };
  co_return co_await commitWithRetry(request, unit, create);
}

Task<StatusWith<WriteTarget>> openForWrite(Request& request, Namespace ns, IfMissing ifMissing) {
  ServerContext& server = request.server();
  if (Status status = checkUserWrite(ns); !status.isOK()) co_return status;
  for (LockMode mode = LockMode::kIX;;) {
    HeldLock lock(request.operation(), storage::ResourceType::kCollection, ns.toString(), mode);
    if (!request.operation().tryAdmit(true) || !lock.tryAcquire()) {
      if (Status status = co_await acquireLock(server.node, request.operation(), lock); !status.isOK())
        co_return status;
    }
    CollectionPtr collection = server.catalog.find(ns);
    if (collection && collection->isCapped() && mode == LockMode::kIX) {
      mode = LockMode::kX;
      continue;
    }
    if (collection && collection->isView()) {
      co_return Status(ErrorCode::kCommandNotSupportedOnView,
                       "Namespace " + ns.toString() + " is a view, not a collection");
    }
    if (collection || ifMissing == IfMissing::kLeave) co_return WriteTarget{std::move(lock), std::move(collection)};
    lock.reset();
    if (Status created = co_await createIfMissing(request, ns); !created.isOK()) co_return created;
  }
}

storage::ConflictRetryOptions retryOptions(const ServerContext& server) {
  storage::ConflictRetryOptions options;
  options.temporarilyUnavailable = server.parameters.enableTemporarilyUnavailableExceptions;
  options.temporarilyUnavailableMaxRetries = static_cast<int>(server.parameters.temporarilyUnavailableMaxRetries);
  options.temporarilyUnavailableBackoffBase =
      std::chrono::milliseconds(server.parameters.temporarilyUnavailableBackoffBaseMillis);
  return options;
}

Future<Status> runBlocking(ServerContext& server, std::string what, std::function<Status()> work) {
  auto promise = std::make_shared<Promise<Status>>();
  auto outcome = promise->future();
  server.blocking.run(what, std::move(work), [promise](Status status) { promise->set(std::move(status)); });
  return outcome;
}

bool endsCommand(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kInterrupted:
    case ErrorCode::kInterruptedAtShutdown:
    case ErrorCode::kInterruptedDueToReplStateChange:
    case ErrorCode::kMaxTimeMSExpired:
    case ErrorCode::kExceededTimeLimit:
    case ErrorCode::kShutdownInProgress:
    case ErrorCode::kNotWritablePrimary:
    case ErrorCode::kPrimarySteppedDown: return true;
    default: return false;
  }
}

void appendWriteErrors(bson::Builder& reply, const std::vector<WriteError>& errors) {
  if (errors.empty()) return;
  reply.openArray("writeErrors");
  for (const WriteError& error : errors) {
    reply.pushDocument().append("index", error.index).append("code", static_cast<int32_t>(error.status.code()));
    if (error.status.extra()) reply.appendAll(*error.status.extra());
    reply.append("errmsg", bson::asUtf8(error.status.reason())).close();
  }
  reply.close();
}

bson::ObjectId newObjectId(ServerContext& server) {
  const auto sinceEpoch = server.node.environment().wallNow().time_since_epoch();
  return server.objectIds.next(
      static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(sinceEpoch).count()));
}

StatusWith<bson::View> documentToStore(bson::View document, ServerContext& server, std::deque<bson::Document>& made) {
  if (document.size() > static_cast<uint32_t>(bson::kMaxDocumentSize)) {
    return Status(ErrorCode::kBSONObjectTooLarge,
                  "object to insert too large. size in bytes: " + std::to_string(document.size()) +
                      ", max size: " + std::to_string(bson::kMaxDocumentSize));
  }
  const bson::Element id = document["_id"];
  if (id.is(bson::Type::kArray) || id.is(bson::Type::kRegex) || id.is(bson::Type::kUndefined)) {
    return Status(ErrorCode::kInvalidIdField,
                  "The '_id' value cannot be of type " + std::string(bson::typeName(id.type())));
  }
  if (id.is(bson::Type::kDocument)) {
    for (const bson::Element& e : id.asDocument()) {
      if (e.name().starts_with('$')) {
        return Status(ErrorCode::kDollarPrefixedFieldName, "_id fields may not contain '$'-prefixed fields: " +
                                                               std::string(e.name()) + " is not valid for storage.");
      }
    }
  }
  if (id.ok() && document.first().name() == "_id") return document;
  bson::Builder stored;
  stored.reserve(document.size() + 24);
  if (id.ok()) stored.append(id);
  else stored.append("_id", newObjectId(server));
  for (const bson::Element& e : document) {
    if (e.name() != "_id") stored.append(e);
  }
  return made.emplace_back(stored.finish()).view();
}

}  // namespace troupe::commands
