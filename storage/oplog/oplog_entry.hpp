#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"
#include "storage/sessions/retry_image.hpp"

namespace troupe::storage {

/// Kinds of operations, by their letter in an entry's field `op`.
enum class OplogKind : char {
  kInsert = 'i',
  kUpdate = 'u',
  kRemove = 'd',
  kCommand = 'c',  ///< a change of the catalog, or a group of operations: logged_command.hpp
  kNoop = 'n',     ///< changes nothing: a note, or the image of a document
};

/// One operation of the log: the content of an entry, or an element of a group (`applyOps`). Views and names
/// are borrowed.
struct LoggedOperation {
  OplogKind kind = OplogKind::kNoop;
  std::string_view ns;              ///< "db.collection"; of commands "db.$cmd"; of notes but images empty
  std::optional<bson::Uuid> uuid;   ///< `ui`: the collection; absent where there is none
  bson::View object;                ///< `o`: the document; of updates a delta or the whole; of removals {_id}
  std::optional<bson::View> other;  ///< `o2`: the updated document's `_id`; for a command, facts from before it
  bool fromMigration = false;       ///< the document only moves between shards

  /// Appends {op, ns, ui, o, o2, fromMigrate}; fields without content are left out.
  void appendTo(bson::Builder& builder) const;
  /// An element of a group. Errors: FailedToParse.
  static StatusWith<LoggedOperation> parse(bson::View operation);
};

/// An entry of the oplog in the form that drivers and tools read (OPL-006, OPL-007): {lsid, txnNumber, op, ns, ui, o,
/// o2, fromMigrate, ts, t, v: 2, wall, stmtId, prevOpTime, preImageOpTime, postImageOpTime, needsRetryImage}. A plain
/// value with borrowed views.
struct OplogEntry {
  LoggedOperation operation;
  OpTime opTime;
  bson::Date wall;                       ///< the writing node's clock
  std::optional<bson::View> session;     ///< `lsid` of a retryable write
  std::optional<int64_t> txnNumber;      ///< only with a session
  std::vector<int32_t> statements;       ///< `stmtId`: a number, or an array of several; only with a session
  std::optional<OpTime> previousOpTime;  ///< `prevOpTime`: the session's entry before this one
  std::optional<OpTime> preImage;        ///< `preImageOpTime`: the note that is the document before (SES-020, SES-025)
  std::optional<OpTime> postImage;       ///< `postImageOpTime`: likewise after; only with a session (SES-020)
  RetryImage image = RetryImage::kNone;  ///< `needsRetryImage`: what members keep for a retry (SES-021)

  bson::Document toDocument() const;
  /// Reads an entry, strictly: every field of its type, none unknown, none missing, none twice. The commands' own
  /// fields are read by logged_command.hpp. Errors: FailedToParse, with the field that is wrong.
  static StatusWith<OplogEntry> parse(bson::View entry);
};

}  // namespace troupe::storage
