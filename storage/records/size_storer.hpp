#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/types.hpp"
#include "messaging/errors/status.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// Number of records and bytes of one table, as counted by commits. Shared by a record store and the size storer.
struct SizeInfo {
  std::atomic<int64_t> records{0};
  std::atomic<int64_t> bytes{0};
  std::atomic<bool> dirty{false};
};

/// Keeps the sizes of all record stores in memory and, from time to time, in the logged table "sizeStorer" (ident ->
/// {numRecords, dataSize}), so that `count` and `collStats` answer at once. Thread-safe.
class SizeStorer {
 public:
  static constexpr std::string_view kIdent = "sizeStorer";
  /// Opens or creates the table and loads all rows. From now on they do not count as right, until `flushAtEnd`.
  static StatusWith<std::unique_ptr<SizeStorer>> open(Engine& engine);

  /// The live counters of a table; zero when it is new.
  std::shared_ptr<SizeInfo> of(std::string_view ident);
  void forget(std::string_view ident);
  /// Reads the table again, into new counters: changes of older ones are no longer stored.
  Status reload();
  /// Writes what changed since the last call. Call periodically (a minute) and before closing; *blocks* briefly.
  Status flush();
  /// The same after the last change, before the engine closes.
  Status flushAtEnd();
  /// Whether the sizes were right when they were opened. After a kill those of tables that the log recovers are older
  /// than the data, and others newer.
  bool wereRight() const { return wereRight_; }
  /// Notes collections whose stored sizes include entries of the log that are about to leave it, so that nothing else
  /// tells a start that they are wrong (RBK-006). Until `settle` every start and rollback counts their documents by
  /// scans. On the disk with the next flush of the journal, and before whatever is written later.
  Status doubt(const std::set<bson::Uuid>& collections);
  std::set<bson::Uuid> doubted() const;
  /// Writes what changed, as `flush` does, and with it that no collection is doubted any more: all have been counted.
  Status settle();

 private:
  SizeStorer(Engine& engine, Table table) : engine_(engine), table_(std::move(table)) {}
  /// A row that stands for no table: what lies in the table are the sizes at an orderly end.
  static constexpr std::string_view kRightMark = "right";
  /// Rows of doubted collections: this and a UUID.
  static constexpr std::string_view kDoubtedMark = "doubted-";
  Status load();
  /// In one transaction: the changed sizes, and without doubts if `settles`. With the mutex.
  Status write(bool settles);
  Status setMark(bool right);

  Engine& engine_;
  Table table_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SizeInfo>, std::less<>> sizes_;
  std::vector<std::string> forgotten_;
  std::set<bson::Uuid> doubted_;
  bool wereRight_ = false;
};

}  // namespace troupe::storage
