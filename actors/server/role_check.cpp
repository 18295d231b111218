#include "actors/server/role_check.hpp"

#include "actors/replication/replica_view.hpp"
#include "actors/server/command.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

namespace {

/// Errors that send drivers to look for another primary.
bool tellsOfRole(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotWritablePrimary:
    case ErrorCode::kNotPrimaryNoSecondaryOk:
    case ErrorCode::kNotPrimaryOrSecondary:
    case ErrorCode::kPrimarySteppedDown:
    case ErrorCode::kInterruptedDueToReplStateChange:
    case ErrorCode::kInterruptedAtShutdown:
    case ErrorCode::kShutdownInProgress: return true;
    default: return false;
  }
}

/// Those of a shutdown, which is counted before they are made.
bool tellsOfShutdown(ErrorCode code) {
  return code == ErrorCode::kInterruptedAtShutdown || code == ErrorCode::kShutdownInProgress;
}

/// Goes on with rows of this node's actors and machines, which their command has made when it ran: they are asked for
/// in every state, most of all in those that serve no reads.
bool readsRowsOfNode(const Request& request) {
  if (request.command->name != "getMore") return false;
  const std::string_view collection = request.text("collection");
  return collection == "$cmd.actorTree" || collection == "$cmd.transitionLog";
}

}  // namespace

Status checkRoleForWriting(const Request& request, std::string_view db) {
  request.operation().announceWrites();
  const replication::Membership* membership = request.server().membership;
  if (!membership || db == "local") return Status::OK();
  if (membership->view()->isWritable()) return Status::OK();
  return {ErrorCode::kNotWritablePrimary, "not primary"};
}

Status checkRole(const Request& request) {
  const replication::Membership* membership = request.server().membership;
  const Access access = request.command->access;
  if (access == Access::kWrite) return checkRoleForWriting(request, request.db());
  if (!membership || request.db() == "local" || access == Access::kNone || access == Access::kAdmin ||
      readsRowsOfNode(request))
    return Status::OK();
  return checkRoleForReading(request.server(), readsFromSecondaries(request));
}

namespace {

bool prefersSecondaries(const Request& request) { return request.readMode != ReadMode::kPrimary; }

}  // namespace

/// A getMore is asked again when its cursor is known.
bool readsFromSecondaries(const Request& request) {
  if (request.fromSecondaries) return *request.fromSecondaries;
  return request.command->name == "getMore" || prefersSecondaries(request);
}

void readFromCursor(Request& request, bool fromSecondaries) {
  request.fromSecondaries = fromSecondaries || prefersSecondaries(request);
}

/// ISY-003: what an initial sync fetches is not carried out yet, and may be given up.
Status checkRoleForReading(const Request& request, const storage::Namespace& ns) {
  const replication::Membership* membership = request.server().membership;
  const bool copies = membership && membership->view()->state() == replication::MemberState::kStartup2;
  if (copies && ns.isLocal() && ns.collection() == "oplog.rs")
    return {ErrorCode::kNotPrimaryOrSecondary, "the log of this node cannot be read during its initial sync"};
  if (!ns.isReplicated()) return Status::OK();
  return checkRoleForReading(request.server(), readsFromSecondaries(request));
}

Status checkRoleForReading(const ServerContext& server, bool fromSecondaries) {
  if (!server.membership) return Status::OK();
  const auto view = server.membership->view();
  if (view->isWritable()) return Status::OK();
  const auto state = view->state();
  if (state != replication::MemberState::kSecondary && state != replication::MemberState::kPrimary)
    return {ErrorCode::kNotPrimaryOrSecondary, "node is not in primary or recovering state"};
  if (fromSecondaries) return Status::OK();
  return {ErrorCode::kNotPrimaryNoSecondaryOk, "not primary and secondaryOk=false"};
}

void appendTopologyVersion(Request& request, ErrorCode failure) {
  const replication::Membership* membership = request.server().membership;
  if (!membership || !tellsOfRole(failure)) return;
  const HelloState& hello = request.server().hello;
  const storage::WriteFence& fence = request.server().operations.replicated->fence;
  const auto writable = hello.counted([membership] { return membership->view()->isWritable(); });
  const bool isToCome = writable.value && !fence.isOpen();
  if (isToCome && !tellsOfShutdown(failure)) return;
  request.reply().append("topologyVersion", hello.topologyVersion(writable.counter));
}

bool mayWrite(const ServerContext& server, const storage::Namespace& ns) {
  return !ns.isReplicated() || !server.membership || server.membership->view()->isWritable();
}

Interruption interruptWrites(const ServerContext& server) {
  Interruption done;
  server.clients.each([&](Client& client) {
    client.withOperation([&](storage::OperationContext& operation) {
      const bool isWrite = operation.announcesWrites();
      if (isWrite) operation.kill(ErrorCode::kInterruptedDueToReplStateChange);
      ++(isWrite ? done.killed : done.left);
    });
  });
  return done;
}

}  // namespace troupe::server
