#include "actors/commands/write_support.hpp"

#include <algorithm>

#include "actors/commands/query_support.hpp"
#include "actors/server/collection_uuid.hpp"
#include "actors/server/rights_collection.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/session_access.hpp"
#include "messaging/bson/ids.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::commands {
using namespace server;

using storage::Namespace;

Status checkUserWrite(const Namespace& ns) {
  if (!ns.isSystem()) return Status::OK();
  const auto name = ns.collection();
  if (keepsRights(ns) || name == "system.js" || name == "system.version" || name.starts_with("system.buckets."))
    return Status::OK();
  return {ErrorCode::kInvalidNamespace, "cannot write to '" + ns.toString() + "'"};
}

Status checkUserDrop(const Namespace& ns) {
  const auto name = ns.collection();
  if (!ns.isSystem() || name == "system.js" || name == "system.profile" || name == "system.views" ||
      name.starts_with("system.buckets."))
    return Status::OK();
  return {ErrorCode::kIllegalOperation, "can't drop, rename or replace system collection " + ns.toString()};
}

namespace {

/// What is kept of sessions cannot be changed in one: its own record would change with it. What is not replicated has
/// no log from which a retry could be answered.
Status checkNumberedTarget(const Request& request, const storage::Namespace& ns) {
  if (!request.operation().retryable) return Status::OK();
  if (storage::keepsSessions(ns.toString()))
    return {ErrorCode(40528), "Direct writes against " + ns.toString() +
                                  " cannot be performed using a transaction or on a session: leave the txnNumber out"};
  if (ns.isReplicated()) return Status::OK();
  return {ErrorCode::kIllegalOperation, ns.toString() + " is not replicated: writes to it cannot be retried"};
}

}  // namespace

Task<StatusWith<WriteTarget>> openForWrite(Request& request, AuthorizedNamespace ns, IfMissing ifMissing) {
  if (ns != kSessions || !isClusterItself(request.client())) TROUPE_CO_TRY(checkUserWrite(ns));
  TROUPE_CO_TRY(checkRoleForWriting(request, ns.db()));  // of the namespace: a command may name another database
  TROUPE_CO_TRY(checkNumberedTarget(request, ns));
  if (ifMissing == IfMissing::kCreate && request.operation().retryable && !request.server().catalog.exists(ns)) {
    TROUPE_CO_TRY(checkCollectionUuid(request, ns));
    request.operation().yieldLocks();  // a collection is made while nothing is locked
    TROUPE_CO_TRY(co_await createIfMissing(request, ns));
    TROUPE_CO_TRY(co_await resumeLocks(request.server().node, request.operation()));
  }
  auto target = co_await writerOf(request).open(ns, ifMissing);
  if (!target.isOK()) co_return target.status();
  TROUPE_CO_TRY(checkCollectionUuid(request, ns));
  co_return std::move(*target);
}

Task<Status> createIfMissing(Request& request, AuthorizedNamespace ns) {
  co_return co_await writerOf(request).createIfMissing(std::move(ns));
}

Task<Status> OutputLock::take(Request& request, AuthorizedNamespace target, bool replaces) {
  TROUPE_CO_TRY(storage::validateForCreate(target));
  target_ = target;
  if (replaces) {
    auto held = co_await lockCollection(request.server().node, request.operation(), target, storage::LockMode::kX);
    if (!held.isOK()) co_return held.status();
    lock_ = std::move(*held);
    co_return Status::OK();
  }
  auto opened = co_await writerOf(request).open(target, IfMissing::kCreate);
  if (!opened.isOK()) co_return opened.status();
  lock_ = std::move(opened->lock);
  co_return Status::OK();
}

Task<Status> OutputLock::adjust(Request& request) {
  storage::Locker* const locker = request.operation().locker();
  if (!target_ || !locker) co_return Status::OK();
  const std::string name = target_->toString();
  const bool isAlone = locker->modeOf(storage::ResourceId::collection(name)) == storage::LockMode::kX;
  const auto collection = request.server().catalog.find(*target_);
  if (isAlone || !collection || !collection->isCapped()) co_return Status::OK();
  lock_.reset();
  auto opened = co_await writerOf(request).open(*target_, IfMissing::kLeave);
  if (!opened.isOK()) co_return opened.status();
  lock_ = std::move(opened->lock);
  co_return Status::OK();
}

auth::ActionSet bypassAction(bson::View command) {
  if (!command["bypassDocumentValidation"].truthy()) return {};
  return auth::actions({auth::Action::kBypassDocumentValidation});
}

StatusWith<auth::ActionSet> actionsOfChange(bson::View command, const std::vector<bson::View>& statements) {
  using enum auth::Action;
  const std::string_view name = command.first().name();
  const auto upserts = [](bson::View one) { return one["upsert"].truthy(); };
  auth::ActionSet needed = bypassAction(command);
  if (name == "update") {
    needed |= auth::actions({kUpdate});
    if (std::ranges::any_of(statements, upserts)) needed |= auth::actions({kInsert});
  } else if (name == "delete") {
    needed |= auth::actions({kRemove});
  } else if (name == "findAndModify" || name == "findandmodify") {
    needed |= auth::actions({kFind, command["remove"].truthy() ? kRemove : kUpdate});
    if (upserts(command)) needed |= auth::actions({kInsert});
  } else {
    return Status(ErrorCode::kCommandNotFound, std::string(name) + " changes no documents");
  }
  return needed;
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

Status checkBatchSize(size_t count) {
  if (count >= 1 && count <= kMaxWriteBatch) return Status::OK();
  return {ErrorCode::kInvalidLength,
          "Write batch sizes must be between 1 and 100000. Got " + std::to_string(count) + " operations."};
}

Task<Status> betweenStatements(Request& request, TimePoint& lastYield) {
  const TimePoint now = request.server().node.environment().now();
  storage::OperationContext& operation = request.operation();
  if (Status status = operation.checkForInterrupt(now); !status.isOK()) co_return status;
  if (now - lastYield >= kSlice) {
    TROUPE_CO_TRY(co_await giveWay(request));
    lastYield = request.server().node.environment().now();
  } else if (operation.retryable) {  // each statement passes flow control
    operation.yieldLocks();
    TROUPE_CO_TRY(co_await resumeLocks(request.server().node, operation));
  }
  co_return Status::OK();
}

Task<Status> betweenReads(Request& request, TimePoint& lastYield) {
  TROUPE_CO_TRY(request.checkForInterrupt());
  Environment& environment = request.server().node.environment();
  if (environment.now() - lastYield < kSlice) co_return Status::OK();
  TROUPE_CO_TRY(co_await giveWay(request));
  lastYield = environment.now();
  co_return Status::OK();
}

Task<Status> giveWay(Request& request) {
  storage::OperationContext& operation = request.operation();
  operation.yieldLocks();
  TROUPE_CO_TRY(co_await request.yield());
  co_return co_await resumeLocks(request.server().node, operation);
}

Task<Status> trimCapped(Request& request, AuthorizedNamespace ns, storage::CollectionPtr collection, int64_t added) {
  storage::OperationContext& operation = request.operation();
  if (operation.lastingUnit()) co_return Status::OK();
  while (added > 0 && collection->exceedsCap()) {
    auto target = co_await openForWrite(request, ns, IfMissing::kLeave);
    if (!target.isOK()) co_return endsCommand(target.status()) ? target.status() : Status::OK();
    if (!target->collection || target->collection->uuid() != collection->uuid()) break;
    collection = target->collection;
    int64_t removed = 0;
    auto trim = [&]() -> Status {
      TROUPE_ASSIGN(removed, collection->trim(operation.recoveryUnit()));
      return Status::OK();
    };
    const Status status = co_await writerOf(request).commit(trim);
    if (!status.isOK()) co_return endsCommand(status) ? status : Status::OK();
    if (removed == 0) break;  // a single document may be larger than the collection
    added -= removed;
    target->lock.reset();
    TROUPE_CO_TRY(co_await giveWay(request));
  }
  co_return Status::OK();
}

void WriteErrors::add(WriteError error) {
  const size_t details = error.status.extra() ? error.status.extra()->view().size() : 0;
  const bool shows = bytes_ + details <= kMaxBytes;
  if (details > 0 && !shows) error.status = Status(error.status.code(), error.status.reason());
  bytes_ += error.status.reason().size() + (shows ? details : 0);
  if (bytes_ > kMaxBytes) error.status = Status(error.status.code(), "");
  errors_.push_back(std::move(error));
}

void WriteErrors::appendTo(Request& request) const {
  const storage::WriteConcern& concern = request.operation().writeConcern;
  const bool isUnacknowledged = concern.given && concern.w == 0 && !concern.majority && !concern.named;
  if (errors_.empty() || isUnacknowledged) return;
  request.operation().noteReliance();  // on the document of a duplicate, for one
  bson::Builder& reply = request.reply();
  reply.openArray("writeErrors");
  for (const WriteError& error : errors_) {
    const Status shown = withoutHiddenValues(request, error.status);
    reply.pushDocument().append("index", error.index).append("code", static_cast<int32_t>(shown.code()));
    if (shown.extra()) reply.appendAll(*shown.extra());
    reply.append("errmsg", bson::asUtf8(shown.reason())).close();
  }
  reply.close();
}

bson::Timestamp newTimestamp(ServerContext& server) {
  const auto id = newObjectId(server).bytes;  // whose counter no other of this second has
  const uint32_t count = uint32_t{id[9]} << 16 | uint32_t{id[10]} << 8 | id[11];
  return {static_cast<uint32_t>(wallMillis(server) / 1000), count + 1};
}

namespace {

bool isEmptyTimestamp(const bson::Element& e) {
  return e.is(bson::Type::kTimestamp) && e.asTimestamp() == bson::Timestamp{} && e.name() != "_id";
}

}  // namespace

StatusWith<bson::View> documentToStore(bson::View document, ServerContext& server, std::deque<bson::Document>& made,
                                       EmptyTimestamps timestamps) {
  if (document.size() > static_cast<uint32_t>(bson::kMaxDocumentSize)) {
    return Status(ErrorCode::kBSONObjectTooLarge,
                  "object to insert too large. size in bytes: " + std::to_string(document.size()) +
                      ", max size: " + std::to_string(bson::kMaxDocumentSize));
  }
  const auto nestsTooDeeply = [](const bson::Element& e) { return bson::nestsDeeper(e, bson::kMaxNestingDepth - 1); };
  if (std::any_of(document.begin(), document.end(), nestsTooDeeply)) {
    return Status(ErrorCode::kOverflow, "a document may nest to " + std::to_string(bson::kMaxNestingDepth) + " levels");
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
  const bool fills =
      timestamps == EmptyTimestamps::kFill && std::any_of(document.begin(), document.end(), isEmptyTimestamp);
  if (id.ok() && !fills && document.first().name() == "_id") return document;
  bson::Builder stored;
  stored.reserve(document.size() + 24);
  if (id.ok()) stored.append(id);
  else stored.append("_id", newObjectId(server));
  for (const bson::Element& e : document) {
    if (e.name() == "_id") continue;
    if (fills && isEmptyTimestamp(e)) stored.append(e.name(), newTimestamp(server));
    else stored.append(e);
  }
  return made.emplace_back(stored.finish()).view();
}

}  // namespace troupe::commands
