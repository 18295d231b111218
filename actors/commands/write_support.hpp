#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/server/arguments.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/collection_writer.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/collection_catalog.hpp"
#include "storage/query/match/match_expression.hpp"

namespace troupe::commands {
using namespace server;

/// The collection writer of the request's operation.
inline CollectionWriter writerOf(Request& request) { return {request.server().writes, request.operation()}; }
/// Opens a collection for what a client writes. Errors: also InvalidNamespace (see checkUserWrite).
Task<StatusWith<WriteTarget>> openForWrite(Request& request, AuthorizedNamespace ns, IfMissing ifMissing);
/// Makes a collection where there is none. Errors: those of CollectionWriter::createIfMissing.
Task<Status> createIfMissing(Request& request, AuthorizedNamespace ns);

/// The lock of the target of $out (X) or $merge (IX; X while it is capped, since an insert may remove the oldest
/// documents), held while the pipeline runs, but for its yields. Must not outlive the operation.
class OutputLock {
 public:
  /// Makes the target of $merge where it is missing. Errors: those of CollectionWriter::open.
  Task<Status> take(Request& request, AuthorizedNamespace target, bool replaces);
  /// After a yield, whose locks are held again: the target may have become capped meanwhile. Errors: as before.
  Task<Status> adjust(Request& request);

 private:
  std::optional<AuthorizedNamespace> target_;  ///< none: nothing is held
  storage::HeldLock lock_;
};

/// Users may not write here directly: system collections. InvalidNamespace or Unauthorized.
Status checkUserWrite(const storage::Namespace& ns);
/// Users may not drop a system collection here, nor give it another name, nor put another collection in its place.
/// Errors: IllegalOperation.
Status checkUserDrop(const storage::Namespace& ns);

/// The action that the argument `bypassDocumentValidation` asks for, if it is there.
auth::ActionSet bypassAction(bson::View command);
inline auth::ActionSet bypassAction(const Request& request) { return bypassAction(request.body()); }
/// All that an update, delete or findAndModify needs on its collection, when it runs and when it is explained.
/// `statements`: of the former two. Errors: CommandNotFound for other commands.
StatusWith<auth::ActionSet> actionsOfChange(bson::View command, const std::vector<bson::View>& statements);

/// Statements one write command may have.
inline constexpr size_t kMaxWriteBatch = 100'000;
/// Errors: InvalidLength.
Status checkBatchSize(size_t count);
/// Between two statements: a command may have very many of them, each too small to look at the clock. Errors: of an
/// interrupt.
Task<Status> betweenStatements(Request& request, TimePoint& lastYield);
/// The same between two steps that write nothing, as the reading of arguments: flow control is not passed.
Task<Status> betweenReads(Request& request, TimePoint& lastYield);
/// Lets others have all that the command still holds, those locks too that a numbered one has for its session, and run.
/// Errors: of an interrupt, of waiting for locks.
Task<Status> giveWay(Request& request);
/// After an insert of so many bytes, which has removed a bounded number of documents from a capped collection: removes
/// more of the oldest, in units of work with turns in between, until it is within its limits, or as many bytes are
/// gone. What is still over the limits then was before the insert, and goes with the next ones. Nothing within a
/// transaction, all of which is one unit of work. Holds no lock of the collection at its beginning. Errors: those that
/// end the command; after any other the next insert goes on.
Task<Status> trimCapped(Request& request, AuthorizedNamespace ns, storage::CollectionPtr collection, int64_t added);
/// Failures that are the command's and not one statement's: it was interrupted, or the node is not the primary.
bool endsCommand(const Status& status);

/// Changes the one document of a collection whose `_id` is a text, in its own unit of work: `change` gets it (or null)
/// and gives its next version, or nothing to remove it; it may be called again. The collection is made where it is
/// missing. Errors: those of `openForWrite`, of writing, and of `change`.
template <class Change>
Task<Status> changeDocument(Request& request, AuthorizedNamespace ns, std::string id, Change& change) {
  TROUPE_CO_ASSIGN(auto target, co_await openForWrite(request, std::move(ns), IfMissing::kCreate));
  const storage::CollectionPtr collection = target.collection;
  const bson::Document key = bson::doc("_id", id);
  storage::RecoveryUnit& unit = request.operation().recoveryUnit();
  auto body = [&]() -> Status {
    TROUPE_ASSIGN(const auto record, collection->findById(unit, key.view().first()));
    std::optional<bson::Document> before;
    if (record)
      TROUPE_TRY(
          collection->find(unit, *record, [&](bson::View document) { before = bson::Document(document); }).status());
    TROUPE_ASSIGN(const auto after, change(before ? &*before : nullptr));
    if (before && after) return collection->update(unit, *record, *before, *after);
    if (before) return collection->remove(unit, *record, *before);
    if (after) return collection->insert(unit, *after).status();
    return Status::OK();
  };
  co_return co_await writerOf(request).commit(body);
}

/// One failed statement of a write command, as an element of `writeErrors`.
struct WriteError {
  int32_t index = 0;
  Status status;
};
/// The failed statements of one write command. Their details, and then their messages, are kept up to kMaxBytes in all;
/// failures beyond have an index and a code only.
class WriteErrors {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  void add(WriteError error);
  bool empty() const { return errors_.empty(); }
  const std::vector<WriteError>& all() const { return errors_; }
  /// Appends `writeErrors` to the reply, as far as the client may see them, unless there are none.
  void appendTo(Request& request) const;

 private:
  std::vector<WriteError> errors_;
  size_t bytes_ = 0;
};

/// The present second as a timestamp, and a count by which it differs from all others of that second.
bson::Timestamp newTimestamp(ServerContext& server);

/// What becomes of empty timestamps, Timestamp(0, 0), among a document's own fields: in documents of clients they stand
/// for the present, but for `_id`.
enum class EmptyTimestamps { kKeep, kFill };

/// The document as it is stored: `_id` first (generated when absent). Where that differs from what was given, the new
/// document is kept in `made`. Errors: BSONObjectTooLarge, InvalidIdField, DollarPrefixedFieldName (within _id).
StatusWith<bson::View> documentToStore(bson::View document, ServerContext& server, std::deque<bson::Document>& made,
                                       EmptyTimestamps timestamps);

/// The collection's validator, ready to check documents; checks nothing where there is none or it is bypassed.
class DocumentValidator {
 public:
  /// Its expressions take the present for $$NOW. `work`: of the operation that writes; outlives the validator. Errors:
  /// those of parsing the stored validator, and of `check`.
  static StatusWith<DocumentValidator> of(const ServerContext& server, const storage::Collection& collection,
                                          bool bypass, query::QueryWork& work);
  /// DocumentValidationFailure (121) with `errInfo`; OK when it passes or the action is only to warn. `before`: the
  /// document that is replaced (level "moderate" lets documents stay invalid that were), or null. Errors also:
  /// ExceededMemoryLimit, those of an interrupt.
  Status check(bson::View document, const bson::View* before = nullptr) const;

 private:
  StatusWith<bool> accepts(bson::View document) const;
  std::shared_ptr<const bson::Collator> collator_;  ///< the rule borrows it
  std::shared_ptr<const query::MatchExpression> rule_;
  query::QueryWork* work_ = nullptr;
  bool moderate_ = false;
  bool warnOnly_ = false;
};

}  // namespace troupe::commands
