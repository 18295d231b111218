#include "actors/server/session_checkout.hpp"

#include <string>

#include "actors/kernel/node.hpp"
#include "actors/server/fail_points.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_access.hpp"
#include "actors/storage/collection_writer.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::server {

namespace {

/// The fail point `onPrimaryTransactionalWrite` closes the connection (unless `closeConnection` is false) when a
/// numbered write is about to be committed, and makes it fail if it has a `failBeforeCommitExceptionCode`; then nothing
/// else of the command is carried out.
Status failOnPurpose(Request& request) {
  const auto data = request.server().failPoints.fires("onPrimaryTransactionalWrite");
  if (!data) return Status::OK();
  const bson::Element close = data->view()["closeConnection"];
  if (!close || close.truthy()) request.client().closing = request.dropReply = true;
  const auto code = static_cast<ErrorCode>(data->view()["failBeforeCommitExceptionCode"].toInt64());
  if (code == ErrorCode::kOK) return Status::OK();
  request.operation().kill(code);
  return {code, "Failing write via 'onPrimaryTransactionalWrite' failpoint"};
}

}  // namespace

Task<Status> SessionCheckout::checkOut() {
  storage::OperationContext& operation = request_.operation();
  if (!operation.session.txnNumber) co_return Status::OK();
  ServerContext& server = request_.server();
  TROUPE_CO_ASSIGN(const auto session, fullSessionOf(request_.client(), request_.session()));
  TROUPE_CO_ASSIGN(session_, co_await server.sessionCatalog->checkOut(server.node, operation, session));
  TROUPE_CO_TRY(co_await lockTables());
  const auto term = server.operations.replicated->fence.term();
  if (!term) co_return Status(ErrorCode::kNotWritablePrimary, "not primary");
  for (;;) {
    TROUPE_CO_ASSIGN(const bool isKnown,
                     session_->bringUpToDate(operation, *server.oplog, *term, *operation.session.txnNumber));
    if (isKnown) break;
    TROUPE_CO_TRY(co_await request_.yield());  // a look at maxTimeMS, too
  }
  TROUPE_CO_TRY(session_->begin(operation, *operation.session.txnNumber));
  for (;;) {
    TROUPE_CO_ASSIGN(const bool isKnown, session_->bringFamilyUpToDate(operation, *server.oplog));
    if (isKnown) break;
    TROUPE_CO_TRY(co_await request_.yield());
  }
  storage::RetryableWrites& writes = session_->writes();
  writes.keepImagesAside(server.parameters.storeFindAndModifyImagesInSideCollection);
  operation.setWriteTerm(*term);  // what is known holds in this term only
  operation.session.lsid = writes.session();
  operation.retryable = &writes;
  writes.setBeforeCommit([this] { return failOnPurpose(request_); });
  co_return Status::OK();
}

/// They are made with the first numbered command of the set, and again when they were dropped.
Task<Status> SessionCheckout::lockTables() {
  if (tryLockTables()) co_return Status::OK();
  CollectionWriter writer(request_.server().writes, request_.operation());
  for (;;) {
    for (const storage::Namespace* ns : {&storage::transactionsNamespace(), &storage::imagesNamespace()})
      TROUPE_CO_TRY(co_await writer.createIfMissing(*ns));
    TROUPE_CO_ASSIGN(auto transactions, co_await writer.open(storage::transactionsNamespace(), IfMissing::kLeave));
    TROUPE_CO_ASSIGN(auto images, co_await writer.open(storage::imagesNamespace(), IfMissing::kLeave));
    if (!transactions.collection || !images.collection) continue;
    transactions_ = std::move(transactions.lock);
    images_ = std::move(images.lock);
    co_return Status::OK();
  }
}

/// Nearly always both are there and nobody holds them: no task need be started then.
bool SessionCheckout::tryLockTables() {
  const CollectionWriter writer(request_.server().writes, request_.operation());
  auto transactions = writer.tryOpen(storage::transactionsNamespace());
  if (!transactions) return false;
  auto images = writer.tryOpen(storage::imagesNamespace());
  if (!images) return false;
  transactions_ = std::move(transactions->lock);
  images_ = std::move(images->lock);
  return true;
}

void SessionCheckout::checkIn() {
  storage::OperationContext& operation = request_.operation();
  if (operation.retryable) {
    operation.retryable->setBeforeCommit({});
    operation.session.lsid = request_.session();
  }
  operation.retryable = nullptr;
  images_.reset();
  transactions_.reset();
  if (!session_) return;
  session_.reset();
  reapChildren();
}

/// SES-012: once enough have gathered. The command does not wait for it.
void SessionCheckout::reapChildren() {
  ServerContext& server = request_.server();
  const size_t dropped = server.sessionCatalog->droppedChildren().size();
  if (dropped == 0 || static_cast<int64_t>(dropped) < server.parameters.internalSessionsReapThreshold) return;
  server.node.tell(server.node.address(kChildSessionReaperPath), local(ReapChildren{}));
}

}  // namespace troupe::server
