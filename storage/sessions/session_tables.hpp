#pragma once
#include <cstdint>
#include <vector>

#include "storage/catalog/catalog.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::storage {

class OperationContext;
class RecoveryUnit;

/// Writes config.transactions and config.image_collection beside the entries that they follow from. These rows are not
/// logged: each member makes them from the entries, at their times, so that at every time a member has of a session
/// what its log has up to there, whatever a recovery or a rollback goes back to. Keeps no state. Any thread; locks (IX
/// of the two collections) are the caller's.
///
/// A session's document changes with each of its writes, and the engine keeps all versions for as long as history is
/// kept, in a list that it walks with each further change. So now and then (startsRecord) a version becomes a record of
/// its own instead, and the older record is removed.
class SessionTables {
 public:
  explicit SessionTables(Catalog& catalog) : catalog_(catalog) {}

  /// Where a document of a session is, and what the unit of work has written there last: then it need not be looked for
  /// again. Of an earlier unit `id` alone may be kept, as a guess.
  struct Place {
    RecordId id;
    bson::Document document;
  };

  /// Puts the record in the place of the session's older one; a later one stays. Within a unit of work, at the time of
  /// the session's last write, by an operation that has the session checked out or that carries out entries of the log;
  /// for others throws BrokenInvariant. Errors: NamespaceNotFound (the collection has gone); WriteConflict and its kin.
  Status put(RecoveryUnit& unit, const SessionRecord& record, Place& place) const;
  /// The same for an image, at its time.
  Status put(RecoveryUnit& unit, const ImageRecord& record, Place& place) const;

  /// What a member knows of a session; empty: nothing. In the unit's snapshot.
  StatusWith<bson::Document> find(RecoveryUnit& unit, bson::View session) const;
  StatusWith<bson::Document> findImage(RecoveryUnit& unit, bson::View session) const;
  /// The highest number of a session that its record, or that of one of its children, tells of; -1: there are none.
  StatusWith<int64_t> highestNumber(RecoveryUnit& unit, bson::View parent) const;
  /// The same of its children alone.
  StatusWith<int64_t> highestNumberOfChildren(RecoveryUnit& unit, bson::View parent) const;
  /// The children of that number of a session that have records.
  StatusWith<std::vector<bson::Document>> childrenOf(RecoveryUnit& unit, bson::View parent, int64_t number) const;

  /// How many versions a record gets, on average.
  static constexpr uint64_t kVersionsOfARecord = 64;
  /// Whether the version of that time begins a record. The times of any one session are spread evenly.
  static bool startsRecord(bson::Timestamp time);

 private:
  Status putDocument(RecoveryUnit& unit, const Namespace& ns, bson::Document document, bson::Timestamp time,
                     Place& place) const;
  /// Fills `place` with what is there; without an id: there is nothing. `stands` is left on the record.
  static Status locate(const Collection& collection, RecoveryUnit& unit, const bson::Element& session, Place& place,
                       std::optional<RecordCursor>& stands);
  StatusWith<bson::Document> findIn(RecoveryUnit& unit, const Namespace& ns, bson::View session) const;

  Catalog& catalog_;
};

}  // namespace troupe::storage
