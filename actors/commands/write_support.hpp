#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/storage_waits.hpp"
#include "storage/catalog/collection_catalog.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/transaction/conflict_retry.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::commands {

/// A collection that is written to: held in IX, so that it can neither go away nor change its shape meanwhile; in X
/// when it is capped, since an insert may remove the oldest documents: its writers take turns.
struct WriteTarget {
  storage::HeldLock lock;
  storage::CollectionPtr collection;  ///< null when it does not exist and was not to be created
};
enum class IfMissing { kLeave, kCreate };
/// Errors: CommandNotSupportedOnView, InvalidNamespace and those of creating a collection.
Task<StatusWith<WriteTarget>> openForWrite(Request& request, storage::Namespace ns, IfMissing ifMissing);

/// What a new table takes on the disk, about.
inline constexpr size_t kTableBytes = 16 * 1024;

/// Makes a collection when there is none; the caller holds no lock.
Task<Status> createIfMissing(Request& request, storage::Namespace ns);

/// Users may not write here directly: system collections. InvalidNamespace or Unauthorized.
Status checkUserWrite(const storage::Namespace& ns);

storage::ConflictRetryOptions retryOptions(const ServerContext& server);

/// Runs `body` (a callable giving Status) in a unit of work and commits it; again after write conflicts, with waits in
/// between that hold no thread. `body` lives in the caller's frame.
template <class Body>
Task<Status> commitWithRetry(Request& request, storage::RecoveryUnit& unit, Body& body) {
  storage::ConflictRetry retry(retryOptions(request.server()), &request.server().conflicts);
  for (;;) {
    const Status status = storage::writeConflictRetry(retry, unit, [&]() -> Status {
      storage::WriteUnitOfWork work(unit);
      TROUPE_TRY(body());
      return work.commit();
    });
    request.operation().metrics.writeConflicts = retry.conflicts();
    if (status.isOK() || !retry.pendingDelay()) co_return status;
    co_await request.server().node.sleepFor(*retry.pendingDelay());
    if (Status interrupted = request.checkForInterrupt(); !interrupted.isOK()) co_return interrupted;
  }
}

/// Runs work that blocks (an index scan, a checkpoint) on a detached actor and waits for it by message. Have `work`
/// made by an ordinary function: g++ 12 destroys the captures of a lambda that is written in a coroutine twice.
Future<Status> runBlocking(ServerContext& server, std::string what, std::function<Status()> work);

/// Statements one write command may have.
inline constexpr size_t kMaxWriteBatch = 100'000;
/// Failures that are the command's and not one statement's: it was interrupted, or the node is not the primary.
bool endsCommand(const Status& status);

/// One failed statement of a write command, as an element of `writeErrors`.
struct WriteError {
  int32_t index = 0;
  Status status;
};
void appendWriteErrors(bson::Builder& reply, const std::vector<WriteError>& errors);

/// A new ObjectId from the node's clock and random source.
bson::ObjectId newObjectId(ServerContext& server);

/// The document as it is stored: `_id` first (generated when absent). Where that differs from what was given, the new
/// document is kept in `made`. Errors: BSONObjectTooLarge, InvalidIdField, DollarPrefixedFieldName (within _id).
StatusWith<bson::View> documentToStore(bson::View document, ServerContext& server, std::deque<bson::Document>& made);

/// The collection's validator, ready to check documents; checks nothing where there is none or it is bypassed.
class DocumentValidator {
 public:
  /// Errors: those of parsing the stored validator.
  static StatusWith<DocumentValidator> of(const storage::Collection& collection, bool bypass);
  /// DocumentValidationFailure (121) with `errInfo`; OK when it passes or the action is only to warn. `before`: the
  /// document that is replaced (level "moderate" lets documents stay invalid that were), or null.
  Status check(bson::View document, const bson::View* before = nullptr) const;

 private:
  std::shared_ptr<const query::MatchExpression> rule_;
  bson::Document shown_;
  bool moderate_ = false;
  bool warnOnly_ = false;
};

}  // namespace troupe::commands
