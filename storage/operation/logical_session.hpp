#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The logical session and the place in it that a command speaks for: `lsid`, `txnNumber`, `stmtId` or `stmtIds`,
/// `autocommit`, `startTransaction` (SES-001). Documents are borrowed from the command, which outlives the operation.
struct LogicalSession {
  bson::View lsid;  ///< {id: UUID, uid: digest of the user}; empty: no session
  std::optional<int64_t> txnNumber;
  std::vector<int32_t> statementIds;  ///< as given; empty: statements are numbered from 0
  std::optional<bool> autocommit;
  bool startsTransaction = false;

  bool inTransaction() const { return autocommit.has_value(); }
  /// The id of the command's statement at that position; nothing outside of a numbered session.
  std::optional<int32_t> statementId(size_t index) const;

  /// Errors: TypeMismatch, InvalidOptions (fields that need another one, or exclude each other).
  static StatusWith<LogicalSession> parse(bson::View command);
};

}  // namespace troupe::storage
