#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/sessions/retry_image.hpp"

namespace troupe::storage {

struct OplogEntry;

/// config.transactions: the last write of each session, one document a session (SES-016).
const Namespace& transactionsNamespace();
/// config.image_collection: what the last findAndModify of each session answers when it is sent again (SES-021).
const Namespace& imagesNamespace();

/// Whether it is one of the two.
bool keepsSessions(std::string_view ns);

/// A document of config.transactions, {_id: lsid, txnNum, lastWriteOpTime: {ts, t}, lastWriteDate}. Views are borrowed.
struct SessionRecord {
  bson::View session;  ///< SessionId as a document: of a parent or a child, each has a record of its own
  int64_t txnNumber = 0;
  OpTime lastWrite;        ///< where the chain of its entries begins, which goes back by `prevOpTime`
  bson::Date lastWritten;  ///< by the writing node's clock

  /// Of the session that wrote an entry; nothing where no session did.
  static std::optional<SessionRecord> of(const OplogEntry& entry);
  bson::Document toDocument() const;
  /// Fields that later versions add are passed over. Errors: FailedToParse.
  static StatusWith<SessionRecord> parse(bson::View document);
};

/// A document of config.image_collection, {_id: lsid, txnNum, ts, imageKind, image, invalidated}. Views are borrowed.
struct ImageRecord {
  bson::View session;
  int64_t txnNumber = 0;
  bson::Timestamp time;  ///< of the write's entry
  RetryImage kind = RetryImage::kBefore;
  bson::View image;
  bool invalidated = false;  ///< it was made from data that may have been later than the write: an initial sync

  bson::Document toDocument() const;
  /// Errors: FailedToParse.
  static StatusWith<ImageRecord> parse(bson::View document);
};

}  // namespace troupe::storage
