#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messaging/bson/collation.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::storage {

// Decisions of an applier, without clock or storage: what makes a batch, and which writer carries out which entry.

/// Consecutive entries of a log, with the documents that they borrow from. Entry `i` is read from document `i`.
struct OplogStretch {
  std::vector<bson::Document> documents;
  std::vector<OplogEntry> entries;

  size_t size() const { return entries.size(); }
  /// Errors: FailedToParse, with the time of the entry that is wrong.
  static StatusWith<OplogStretch> parse(std::vector<bson::Document> documents);
};

/// Whether an entry is carried out by itself, in its order: a change of the catalog, a group of operations, an edit of
/// what is kept of sessions, which has to have its place among what follows from their entries.
inline bool isAlone(const OplogEntry& entry) {
  return entry.operation.kind == OplogKind::kCommand || keepsSessions(entry.operation.ns);
}

/// Names an entry in a message: "the entry of Timestamp(5, 1)".
std::string nameOf(const OplogEntry& entry);

struct BatchLimits {
  size_t maxEntries = 5000;
  size_t maxBytes = size_t{16} << 20;  ///< of the entries as they are stored
};

/// How many entries of the stretch, from entry `from` on, make the next batch (REP-020): as many as the limits allow,
/// one at least; what is carried out alone by itself (REP-021). Zero: the first is younger than `notAfter` on the clock
/// of its writer, which a delayed member does not apply yet (`secondaryDelaySecs`).
size_t nextBatch(const OplogStretch& stretch, size_t from, const BatchLimits& limits,
                 std::optional<bson::Date> notAfter = std::nullopt);

/// What of a collection decides on the writers of its documents.
struct CollectionTraits {
  bool isCapped = false;                             ///< its records have the order of the log
  std::shared_ptr<const bson::Collator> collator{};  ///< by which its `_id`s are equal; null: bytewise
};
using TraitsOf = std::function<CollectionTraits(const bson::Uuid&)>;

/// Entries of documents for each of `writers` (at least 1), which may carry them out side by side (REP-020): those of
/// one document are one writer's, in their order, and so are all of a capped collection. A writer's entries of one
/// collection stand together, in their order, so that it can write them in few units of work (REP-022). Notes are left
/// out. Points into `batch`; no entry of it is a command.
std::vector<std::vector<const OplogEntry*>> spread(std::span<const OplogEntry> batch, size_t writers,
                                                   const TraitsOf& traitsOf);

/// Entries of retryable writes for each of `writers` (at least 1), which may write the records of their sessions side
/// by side: those of one session are one writer's, in their order. Points into `batch`.
std::vector<std::vector<const OplogEntry*>> spreadSessions(std::span<const OplogEntry> batch, size_t writers);

}  // namespace troupe::storage
