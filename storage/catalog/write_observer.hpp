#pragma once
#include <cstdint>
#include <span>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

class Collection;
class RecoveryUnit;
struct CatalogEntry;

/// What a unit of work does to the documents of one collection. The bytes are borrowed.
struct DocumentChange {
  enum class Kind : uint8_t { kInsert, kUpdate, kRemove, kTruncate };
  Kind kind{};
  std::span<const bson::View> before{};  ///< what was there: one document of an update or removal
  std::span<const bson::View> after{};   ///< what is there now: the documents of an insert, one of an update
};

/// Hears of every change of the collections it asks for: documents are only written by Collection, collections only by
/// the catalog, so no writer can go past it. Called within the unit of work that makes the change, which may still be
/// rolled back: what is to follow a commit is registered with `unit.onCommit`. A failure undoes the unit. Any thread;
/// must outlive the catalog.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  /// Asked once for each version of a collection; what it does not ask for costs nothing.
  virtual bool observes(const CatalogEntry& entry) const = 0;
  virtual Status onDocuments(RecoveryUnit& unit, const Collection& collection, const DocumentChange& change) = 0;
  /// A collection gets another version (name, options, indexes), or is made (`before` null), or goes (`after` null).
  virtual Status onCollection(RecoveryUnit& unit, const Collection* before, const Collection* after) = 0;
};

}  // namespace troupe::storage
