#include <algorithm>
#include <memory>
#include <optional>

#include "actors/kernel/node.hpp"
#include "actors/server/cluster_time.hpp"
#include "actors/server/collection_uuid.hpp"
#include "actors/server/command.hpp"
#include "actors/server/cursor_registry.hpp"
#include "actors/server/error_labels.hpp"
#include "actors/server/finished_operation.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/operation_setup.hpp"
#include "actors/server/profiler.hpp"
#include "actors/server/read_concern.hpp"
#include "actors/server/replication_metadata.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_access.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/session_checkout.hpp"
#include "actors/server/user_store.hpp"
#include "actors/server/write_concern.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/bson/validate.hpp"
#include "messaging/errors/co_status.hpp"
#include "messaging/wire/header.hpp"
#include "storage/catalog/catalog_closed.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/sessions/retryable_writes.hpp"
#include "storage/transaction/newest_data.hpp"

namespace troupe::server {

namespace {

/// Whether the client is of that application. Its first hello, which has not been carried out yet, says so itself.
bool isOfApplication(const Request& request, std::string_view name) {
  const bson::Document known = request.client().metadata();
  const bool isGreeting = request.command->name == "hello" || request.command->name == "isMaster";
  const bson::View metadata = isGreeting && known.empty() ? request.document("client") : known.view();
  return metadata.at("application.name").toStringOr() == name;
}

/// `failCommand`: does its data speak of this request? Fields: failCommands, appName, namespace, failInternalCommands
/// (without it the commands of other nodes are left alone: the set goes on replicating).
bool failCommandApplies(const Request& request, bson::View data) {
  const bool isInternal = request.client().isUser("__system", "local");
  if (isInternal && !data["failInternalCommands"].truthy()) return false;
  const auto names = data["failCommands"];
  if (!names.is(bson::Type::kArray)) return false;
  const bool named = std::any_of(names.asArray().begin(), names.asArray().end(), [&](const bson::Element& e) {
    const auto name = e.toStringOr();
    return name == request.commandName() || name == request.command->name ||
           (!request.command->alias.empty() && name == request.command->alias);
  });
  if (!named) return false;
  if (const auto app = data["appName"]; app && !isOfApplication(request, app.toStringOr())) return false;
  if (const auto ns = data["namespace"]; ns) {
    const std::string mine = std::string(request.db()) + "." + std::string(request.body().first().toStringOr());
    if (ns.toStringOr() != mine) return false;
  }
  return true;
}

/// Waits as long as `failCommand` says, unless the operation is killed, is out of time, or loses its client.
Task<Status> block(Request& request, Duration time) {
  request.endWithClient();
  co_return co_await pauseFor(request.server().node.environment(), request.operation(), time);
}

/// Applies an armed `failCommand` before the command runs: block, close the connection, or fail with a code and
/// labels.
Task<Status> applyFailCommand(Request& request, bson::View data) {
  if (data["blockConnection"].truthy()) TROUPE_CO_TRY(co_await block(request, bson::timeLimitOf(data["blockTimeMS"])));
  if (data["closeConnection"].truthy()) {
    request.client().closing = true;
    request.dropReply = true;
    co_return Status(ErrorCode::kHostUnreachable, "connection closed by fail point");
  }
  const auto code = data["errorCode"];
  if (!code) co_return Status::OK();
  bson::Builder extra;
  if (const auto info = data["errInfo"]; info) extra.append("errInfo", info);
  if (const auto labels = data["errorLabels"]; labels) extra.append("errorLabels", labels);
  co_return Status(static_cast<ErrorCode>(code.toInt64()), "Failing command via 'failCommand' failpoint",
                   extra.finish());
}

Status checkApiVersion(const Request& request) {
  const auto version = request.arg("apiVersion");
  const bool strict = request.flag("apiStrict");
  if (!version) {
    if (request.arg("apiStrict") || request.arg("apiDeprecationErrors")) {
      return {ErrorCode::kInvalidOptions, "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion"};
    }
    if (request.server().parameters.requireApiVersion && request.command->name != "hello") {
      return {ErrorCode(498870),
              "The apiVersion parameter is required, please configure your MongoClient's API version"};
    }
    return Status::OK();
  }
  if (version.toStringOr() != "1") {
    return {ErrorCode::kAPIVersionError, "API version must be \"1\""};
  }
  if (strict && !request.command->stableApi) {
    return {ErrorCode::kAPIStrictError,
            "Provided apiStrict:true, but the command " + std::string(request.command->name) +
                " is not in API Version 1. Information on supported commands and migrations in API Version 1 can be "
                "found at https://dochub.mongodb.org/core/manual-versioned-api"};
  }
  return Status::OK();
}

/// The localhost exception: while there is no user at all, a local client may make the first, in `admin`, and before
/// that the set whose primary can store it.
StatusWith<bool> makesFirstUser(const Request& request) {
  const ServerContext& server = request.server();
  const std::string_view name = request.command->name;
  const bool isForIt = (name == "createUser" && request.db() == "admin") || name == "replSetInitiate";
  const bool mayMake = isForIt && request.client().fromLoopback && !request.client().authenticated() &&
                       server.parameters.enableLocalhostAuthBypass;
  if (!mayMake) return false;
  TROUPE_ASSIGN(const bool any, server.users.anyUser());
  return !any;
}

/// Reads the client's users again when the users collection has changed: new roles count at once, dropped users are
/// logged out. Those that cannot be read now stay; the command fails.
Status refreshUsers(Request& request) {
  const UserStore& store = request.server().users;
  auto& users = request.client().users;
  for (size_t i = users.size(); i-- > 0;) {
    if (users[i].internal || users[i].version == store.version()) continue;
    TROUPE_ASSIGN(auto loaded, store.load(users[i].name, users[i].database));
    if (loaded && loaded->id == users[i].id) {
      users[i] = std::move(*loaded);
      continue;
    }
    users.erase(users.begin() + static_cast<std::ptrdiff_t>(i));
    request.client().usersChanged();
  }
  return Status::OK();
}

Status checkRights(Request& request) {
  const ServerContext& server = request.server();
  const Requirement& needed = request.command->requirement;
  using Target = Requirement::Target;
  if (!server.identity.authentication) return Status::OK();
  const Status refreshed = refreshUsers(request);
  const auto makesFirst = makesFirstUser(request);
  request.client().localhostException = makesFirst.isOK() && *makesFirst;  // of this command alone
  if (needed.target == Target::kNobody) return Status::OK();  // a connection may always log out, or in as another
  TROUPE_TRY(refreshed);
  TROUPE_TRY(makesFirst.status());
  if (request.client().localhostException) return Status::OK();
  if (!request.client().authenticated()) {
    return {ErrorCode::kUnauthorized, "Command " + std::string(request.command->name) + " requires authentication"};
  }
  if (needed.target == Target::kAuthenticated || needed.target == Target::kArguments) return Status::OK();
  if (needed.target == Target::kCollection) return NamespaceResolution::checkTarget(request);
  const bool onDatabase = needed.target == Target::kDatabase;
  return request.authorize(needed.action, onDatabase ? auth::Resource::db(request.db()) : auth::Resource::cluster());
}

Status checkCommand(Request& request) {
  request.command = request.server().commands.find(request.commandName());
  if (!request.command || (request.command->testOnly && !request.server().parameters.enableTestCommands)) {
    return {ErrorCode::kCommandNotFound, "no such command: '" + std::string(request.commandName()) + "'"};
  }
  const Command& command = *request.command;
  TROUPE_TRY(storage::validateDatabaseName(request.db()));
  if (command.adminOnly && request.db() != "admin") {
    return {ErrorCode::kUnauthorized, std::string(command.name) + " may only be run against the admin database."};
  }
  TROUPE_TRY(checkRights(request));
  TROUPE_TRY(checkApiVersion(request));
  TROUPE_TRY(checkArguments(command.name, command.arguments, request.body(), request.flag("apiStrict")));
  TROUPE_TRY(takeClusterTime(request));
  TROUPE_TRY(takeReadPreference(request));
  TROUPE_TRY(checkRole(request));
  return setUpOperation(request);
}

void noteLatency(const Request& request, std::chrono::nanoseconds took) {
  OperationLatencies& latencies = request.server().latencies;
  const Access access = request.command ? request.command->access : Access::kNone;
  if (access == Access::kRead) latencies.reads.note(took);
  else if (access == Access::kWrite) latencies.writes.note(took);
  else latencies.commands.note(took);
}

/// How `top` counts a command.
UsageKind usageKindOf(std::string_view command) {
  if (command == "find") return UsageKind::kQueries;
  if (command == "getMore") return UsageKind::kGetMore;
  if (command == "insert") return UsageKind::kInsert;
  if (command == "update") return UsageKind::kUpdate;
  if (command == "delete") return UsageKind::kRemove;
  return UsageKind::kCommands;
}

LatencyKind latencyKindOf(Access access) {
  if (access == Access::kRead) return LatencyKind::kReads;
  return access == Access::kWrite ? LatencyKind::kWrites : LatencyKind::kCommands;
}

/// A cursor's scan counts once, with the command that opens it.
CollectionScanUse scanOf(Request& request) {
  if (request.command->name == "getMore") return CollectionScanUse::kNone;
  const std::string plan = request.operation().metrics.planSummary.text();
  if (plan.find("COLLSCAN") == std::string::npos) return CollectionScanUse::kNone;
  return request.body()["tailable"].truthy() ? CollectionScanUse::kTailable : CollectionScanUse::kNonTailable;
}

void noteUsage(Request& request, std::chrono::nanoseconds took) {
  const std::string ns = request.operation().ns.text();
  if (!request.command || ns.empty()) return;
  const auto exists = [&] { return request.server().catalog.exists(storage::Namespace::split(ns)); };
  request.server().usage.note(ns, usageKindOf(request.command->name), latencyKindOf(request.command->access),
                              scanOf(request), took, exists);
}

/// Reads hold the global lock (RDS-001): what closes the data waits for them. They take no other lock, since they see a
/// version of the catalog that fits their snapshot. False: the lock is not complete, and has to be waited for.
bool tryLockForReading(storage::OperationContext& operation, storage::HeldLock& lock) {
  lock = storage::HeldLock(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
  return operation.tryAdmit(false) && lock.tryAcquire();
}

/// Statements that were executed are answered from memory, whatever has become of the collection: for the others the
/// command looks at it itself.
bool isRetry(const Request& request) {
  const storage::RetryableWrites* const session = request.operation().retryable;
  return session && !session->isEmpty();
}

Task<Status> runOwnBody(Request& request) {
  if (request.command->requirement.target == Requirement::Target::kCollection && !isRetry(request))
    TROUPE_CO_TRY(checkCollectionUuid(request));
  co_return co_await request.command->run(request);
}

bool readsProfile(const Request& request) {
  return request.command->access == Access::kRead && request.body().first().toStringOr() == kProfileCollection;
}

/// The `ok` of distinct over a view is an integer: there it is answered by an aggregation, whose reply is put together
/// anew. Clients compare replies with its type.
void appendSuccess(Request& request) {
  const bool throughView = request.furtherNamespaces && !request.furtherNamespaces->empty();
  if (throughView && request.command->name == "distinct") request.reply().append("ok", 1);
  else request.reply().append("ok", 1.0);
}

/// `failCommand` may have the reply of a body that succeeded tell of a failure.
void appendFailure(Request& request, bson::View data) {
  const auto e = data["writeConcernError"];
  if (!e) return;
  request.reply().append("writeConcernError", e);
  if (const auto labels = data["errorLabels"]) {
    request.reply().append("errorLabels", labels);
    request.isLabelled = true;
  } else if (e.is(bson::Type::kDocument)) {
    appendErrorLabels(request, static_cast<ErrorCode>(e.asDocument()["code"].toInt64()));
  }
}

/// Runs the command's body, under the lock that it reads with. `failure`: what `failCommand` has its reply tell.
Task<Status> runBody(Request& request, const std::optional<FailPointData>& failure) {
  storage::HeldLock lock;
  if (request.command->access == Access::kRead && !tryLockForReading(request.operation(), lock)) {
    TROUPE_CO_TRY(co_await acquireLock(request.server().node, request.operation(), lock));
  }
  TROUPE_CO_TRY(co_await runOwnBody(request));
  if (failure) appendFailure(request, failure->view());
  lock.reset();
  co_return co_await confirmLinearizable(request);
}

/// What may last comes before anything is locked or checked out: the wait for a read concern, and that of
/// `failCommand`.
Task<Status> runInSession(Request& request) {
  if (readsProfile(request)) co_await settleProfile(request);
  // Nobody reads the answer of a client that has gone; its writes may have been meant to be made without one.
  const auto& isPeerGone = request.client().isPeerGone;
  if (request.command->access == Access::kRead && isPeerGone) request.operation().watchClient(&isPeerGone);
  auto failure =
      request.server().failPoints.fires("failCommand", [&](bson::View d) { return failCommandApplies(request, d); });
  if (request.command->name == "configureFailPoint") failure.reset();
  if (failure) TROUPE_CO_TRY(co_await applyFailCommand(request, failure->view()));
  TROUPE_CO_TRY(co_await setUpReadConcern(request));
  if (!request.operation().session.txnNumber) co_return co_await runBody(request, failure);
  SessionCheckout session(request);
  TROUPE_CO_TRY(co_await session.checkOut());
  co_return co_await runBody(request, failure);
}

/// After a failure the client knows nothing of a cursor that the command opened, and has not got the batch of one that
/// it read: going on would leave that out.
void endCursorOf(Request& request) {
  if (request.cursorId != 0 && !request.cursorExhausted) request.server().cursors.kill(request.cursorId);
  request.streamOn.reset();
}

/// What a command looks for without a lock is not to be had while the node rolls back.
Task<Status> runUnlessClosed(Request& request) {
  try {
    co_return co_await runInSession(request);
  } catch (const storage::CatalogClosed&) {
    co_return storage::CatalogClosed::status();
  }
}

/// Whether there is something to await: writes even when the command failed afterwards. A command that had nothing to
/// write answers for what it found, which another client may have written a moment ago, or an earlier attempt of the
/// command: it awaits what was there. That goes for each success, also of an operation that was told to end just then:
/// a step-down may undo what was found. Its wait ends at once, and the reply says so. The note of a linearizable read
/// was awaited when it confirmed the read.
bool awaitsWriteConcern(const Request& request, const Status& outcome) {
  const storage::OperationContext& operation = request.operation();
  if (operation.readConcern.level == storage::ReadConcernLevel::kLinearizable) return false;
  if (operation.hasWritten()) return true;
  if (!operation.announcesWrites() || !operation.writeConcern.isAwaited()) return false;
  return outcome.isOK() || (!operation.killed() && outcome.code() != ErrorCode::kNotWritablePrimary);
}

/// Writes look at the newest data, also those of a pipeline that reads at an earlier time.
StatusWith<OpTime> newestLogged(Request& request) {
  storage::RecoveryUnit& unit = request.operation().recoveryUnit();
  const storage::NewestData newest(unit);
  return storage::lastLogged(request.server().catalog.unguarded(), unit);
}

/// On a member, a statement that changed nothing awaits the newest write that it could see, also behind the command's
/// own.
Task<Status> noteWhatWasThere(Request& request) {
  storage::OperationContext& operation = request.operation();
  if (!request.server().operations.replicated || !operation.writeConcern.isAwaited()) co_return Status::OK();
  if (operation.hasWritten() && !operation.reliesOnOthers()) co_return Status::OK();
  storage::HeldLock lock(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
  if (!operation.tryAdmit(false) || !lock.tryAcquire())
    TROUPE_CO_TRY(co_await acquireLock(request.server().node, operation, lock));
  TROUPE_CO_ASSIGN(const OpTime newest, newestLogged(request));
  operation.recoveryUnit().releaseSession();
  operation.setLastOpTime(std::max(newest, operation.lastOpTime()));
  co_return Status::OK();
}

Task<void> finishWrites(Request& request) {
  Status safe = co_await noteWhatWasThere(request);
  if (safe.isOK()) safe = co_await awaitWriteConcern(request);
  if (safe.isOK()) co_return;
  appendWriteConcernError(request, safe);
  appendErrorLabels(request, safe.code());
}

/// A lock on the operation's place in its client, so that currentOp sees it, and who kills sessions finds it, exactly
/// while it runs.
class Running {
 public:
  explicit Running(Request& request) : client_(request.client()) { client_.setOperation(&request.operation()); }
  ~Running() { client_.setOperation(nullptr); }
  void setSession(SessionCache::Use session) {
    session_ = std::move(session);
    client_.setSession(session_.key());
  }

 private:
  Client& client_;
  SessionCache::Use session_;
};

/// Whether numbered or not: a session is used by its owner alone. A client that has yet to authenticate leaves nothing
/// behind: the session it names is checked and not remembered.
Status noteSession(Request& request, Running& running) {
  const Client& client = request.client();
  if (request.session().empty()) return Status::OK();
  TROUPE_ASSIGN(const SessionKey key, sessionOf(client, request.session()));
  if (isTrusted(request.server(), client))
    running.setSession(request.server().sessions.use(key, sessionUsers(client, key), request.operation().started()));
  return Status::OK();
}

}  // namespace

CommandTable::CommandTable(std::initializer_list<std::span<const Command>> families) {
  for (const auto& family : families) {
    for (const Command& command : family) sorted_.push_back(&command);
  }
  // Stable: of two commands of one name the earlier family's is kept.
  std::stable_sort(sorted_.begin(), sorted_.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  const auto isRepeated = [](const auto* a, const auto* b) { return a->name == b->name; };
  sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), isRepeated), sorted_.end());
  for (const Command* command : sorted_) byName_.emplace(command->name, command);
  for (const Command* command : sorted_)
    if (!command->alias.empty()) byName_.emplace(command->alias, command);
}

const Command* CommandTable::find(std::string_view name) const {
  const auto found = byName_.find(name);
  return found == byName_.end() ? nullptr : found->second;
}

void writeError(wire::MessageBuilder& reply, const Status& status) {
  reply.discard();
  bson::Builder& body = reply.body();
  body.append("ok", 0.0)
      .append("errmsg", bson::asUtf8(status.reason()))
      .append("code", static_cast<int32_t>(status.code()));
  body.append("codeName", errorName(status.code()));
  // What clients could not read is left out: the code and the reason have to reach them.
  if (status.extra() && status.extra()->view().size() <= uint32_t{bson::kMaxDocumentSize})
    body.appendAll(*status.extra());
}

/// Every command has a limit of its own, below that of a message, which no client could read.
Status checkReplySize(Request& request) {
  constexpr size_t kOthers = 64 * 1024;  // what is appended to each reply
  if (request.reply().size() + kOthers <= static_cast<size_t>(wire::kMaxMessageSize)) return Status::OK();
  return {ErrorCode::kBSONObjectTooLarge,
          "the reply of " + std::string(request.commandName()) + " is larger than a message may be: ask for less"};
}

Task<void> dispatch(Request& request) {
  storage::OperationContext& operation = request.operation();
  operation.database = request.db();
  operation.commandName = request.commandName();
  operation.command = request.body();
  Running running(request);  // others may look from now on
  Status status = request.accountForMessages();
  if (status.isOK()) status = checkCommand(request);
  while (status == ErrorCode::kLockTimeout) {  // users cannot be read at the moment
    status = co_await request.server().users.untilReadable(request.server().node, operation);
    if (status.isOK()) status = checkCommand(request);
  }
  const bool admitted = status.isOK();
  if (status.isOK() && request.flag("help")) {  // a question about the command: it does not run
    request.reply().append("help", request.command->summary).append("ok", 1.0);
    co_return;
  }
  if (status.isOK()) status = noteSession(request, running);
  if (status.isOK()) status = co_await runUnlessClosed(request);
  if (status.isOK()) status = checkReplySize(request);
  if (status.isOK()) {
    appendSuccess(request);
  } else {
    endCursorOf(request);
    request.server().counters.userAsserts.fetch_add(1, std::memory_order_relaxed);
    if (status == ErrorCode::kDataCorruptionDetected)
      request.server().log.error(log::Component::kStorage, 22449, "command", "A command met damaged data",
                                 bson::doc("command", request.commandName(), "error", status.reason()));
    writeError(request.message(), withoutHiddenValues(request, status));
    request.isLabelled = status.extra() && status.extra()->view().has("errorLabels");
    appendErrorLabels(request, status.code());
    appendTopologyVersion(request, status.code());
  }
  // The snapshot goes first, so that neither this wait nor a slow client holds it.
  if (operation.hasRecoveryUnit()) operation.recoveryUnit().releaseSession();
  if (admitted && awaitsWriteConcern(request, status)) {
    request.stopAccounting();  // what many wait for needs memory, too
    co_await finishWrites(request);
  }
  appendTimes(request);
  appendReplicationMetadata(request);
  operation.metrics.replyBytes = static_cast<int64_t>(request.reply().size());
  const auto took = request.server().node.environment().now() - operation.started() - operation.metrics.awaited;
  noteLatency(request, took);
  noteUsage(request, took);
  reportOperation({request, status, took});
}

}  // namespace troupe::server
