#pragma once
#include <memory>
#include <mutex>
#include <string_view>

#include "messaging/bson/types.hpp"
#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

/// The time up to which the log on this node's disk has no holes (REC-004, REC-005). Entries are committed in any order
/// of their times, so a kill may leave a later one and not an earlier one; other members may have got the earlier
/// one. A start therefore cuts the log after this point, before anything reads it. Written before each flush of the
/// journal, which makes it durable together with what it covers, and by an applier before it writes a batch's entries.
/// Zero: there is nothing to cut, as after a stop in order. Clients see it as the document of
/// local.replset.oplogTruncateAfterPoint. Thread-safe: an initial sync sets it beside the flusher.
class TruncateAfterPoint {
 public:
  static constexpr std::string_view kIdent = "oplogTruncateAfterPoint";

  /// Opens or creates the table, which is logged, and shows its collection. *Blocks.* Errors: UnsupportedFormat, when a
  /// client made a collection of that name; DataCorruptionDetected.
  static StatusWith<std::unique_ptr<TruncateAfterPoint>> open(Catalog& catalog);

  bson::Timestamp get() const;
  /// Writes the point, in a transaction of its own, unless it is there already.
  Status set(bson::Timestamp point);

 private:
  TruncateAfterPoint(Catalog& catalog, Table table)
      : catalog_(catalog), engine_(catalog.engine()), table_(std::move(table)) {}
  Status load();
  // With the mutex.
  /// Written around the record store of the collection that shows it: it has one document, or none.
  void count(size_t bytes);

  Catalog& catalog_;
  Engine& engine_;
  Table table_;
  mutable std::mutex mutex_;
  bson::Timestamp point_;
};

}  // namespace troupe::storage
