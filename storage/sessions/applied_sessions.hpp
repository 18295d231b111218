#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "storage/oplog/batch_units.hpp"
#include "storage/sessions/session_tables.hpp"

namespace troupe::storage {

/// What an applier, or a replay, keeps of the sessions that wrote the entries it has carried out: a version of the
/// session's record for each entry (SES-016), at the entry's time, and the images that entries ask for (SES-021).
/// Entries of one session are one caller's, in the order of the log: so a batch may hold any number of a session's
/// images. Keeps no state of its own. One thread for an operation context; callers with other sessions may work beside
/// it. Locks (IX of the two collections) are the caller's.
class AppliedSessions {
 public:
  AppliedSessions(Catalog& catalog, ApplyMode mode) : catalog_(catalog), tables_(catalog), mode_(mode) {}

  /// Whether the documents of the entries have to be there before they are put: an image is the document as it was at
  /// its entry's time, and is read from the collection.
  bool readsDocuments(std::span<const OplogEntry> entries) const;

  /// Puts what follows from entries at the front, in one unit of work, as many as fit, one at least. Says how many.
  /// `limits` as of applyInUnit. In a replay a collection that a later entry drops may be missing. Errors:
  /// WriteConflict and its kin; TransactionTooLargeForCache (one entry alone is); NamespaceNotFound (only kFollowing:
  /// this node's data are not those of the log); the engine's.
  StatusWith<size_t> putInUnit(OperationContext& operation, std::span<const OplogEntry* const> entries,
                               UnitLimits& limits) const;

  /// Carries out entries of documents and puts what follows from those of sessions, all in one unit of work, as the
  /// primary has committed them. None of the sessions keeps an image. Nothing is written unless all is; the errors of
  /// both, and TransactionTooLargeForCache where `limits` are too small.
  Status putWithDocuments(OperationContext& operation, const OperationApplier& applier,
                          std::vector<const OplogEntry*> documents, std::span<const OplogEntry* const> sessions,
                          UnitLimits limits) const;

 private:
  struct Image;
  StatusWith<std::vector<Image>> imagesOf(OperationContext& operation, std::span<const OplogEntry* const> entries,
                                          const UnitLimits& limits) const;
  StatusWith<Image> read(OperationContext& reader, const OplogEntry& entry) const;
  Status unlessDropped(Status put) const;
  StatusWith<size_t> putOnce(OperationContext& operation, std::span<const OplogEntry* const> entries,
                             const UnitLimits& limits) const;

  Catalog& catalog_;
  const SessionTables tables_;
  const ApplyMode mode_;
};

}  // namespace troupe::storage
