#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/task.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/write_observer.hpp"

namespace troupe::server {

class Request;

/// The collection of each database that its profile is kept in.
inline constexpr std::string_view kProfileCollection = "system.profile";

enum class ProfileLevel : uint8_t { kOff = 0, kNoteworthy = 1, kAll = 2 };

/// What is recorded of one database's operations. Immutable.
struct ProfileSetting {
  ProfileLevel level = ProfileLevel::kOff;
  std::optional<bson::Document> filter;  ///< valid; none: threshold and sample rate decide

  /// Whether the filter matches the record of an operation. False when it fails on it, or takes more than about a
  /// millisecond or a mebibyte: nobody can kill it, and each operation of the database passes it. It is parsed each
  /// time, since a parsed expression belongs to the operation that it works for.
  bool admits(bson::View record) const;
};
using ProfileSettingPtr = std::shared_ptr<const ProfileSetting>;

/// A record that waits to be written.
struct ProfileEntry {
  std::string database;
  bson::Document record;
};

/// The profile settings of all databases, and the queue between operations, which only put their records here, and the
/// actor that writes them (ProfileKeeper). The queue is bounded: records that find no room are dropped and counted.
/// Settings last as long as the process, or until their database is dropped, also by an entry of the log that a member
/// carries out: the next record would make the database again. Thread-safe.
class Profiler final : public storage::WriteObserver {
 public:
  static constexpr size_t kMostWaiting = 4'096;
  static constexpr size_t kMostWaitingBytes = 8 * 1024 * 1024;

  // --- Settings
  /// Null: nothing is recorded, and no filter is set. One relaxed load where no database has a setting.
  ProfileSettingPtr settingOf(std::string_view database) const;
  /// Null: as at the start.
  void set(std::string_view database, ProfileSettingPtr setting);
  bool isOn(std::string_view database) const;

  // --- Records
  void record(std::string_view database, bson::Document record);
  /// Completes `settled` once all records that are here now are written or given up; at once when there are none.
  void whenSettled(const std::shared_ptr<Promise<Done>>& settled);
  /// Records that were dropped because they came faster than they could be written.
  int64_t dropped() const;

  // --- For the keeper
  /// `wake` is called, on any thread, when the first record comes; it must not block. Records that an earlier keeper
  /// has taken and not finished are given up.
  void keepWith(std::function<void()> wake);
  void forgetKeeper();
  std::vector<ProfileEntry> take(size_t most);
  /// `count` of the taken records are written, or given up.
  void finished(size_t count);

  // --- For the catalog
  bool observes(const storage::CatalogEntry&) const override { return false; }
  Status onDropDatabase(storage::RecoveryUnit& unit, std::string_view db, const OpTime& slot) override;

 private:
  using Settled = std::vector<std::shared_ptr<Promise<Done>>>;
  /// Under the mutex; the result is completed after it is released.
  Settled settleLocked();

  mutable std::mutex mutex_;
  std::atomic<bool> anySetting_{false};
  std::map<std::string, ProfileSettingPtr, std::less<>> settings_;
  std::function<void()> wake_;
  std::deque<ProfileEntry> waiting_;
  size_t waitingBytes_ = 0;
  int64_t recorded_ = 0, taken_ = 0, finished_ = 0, dropped_ = 0;
  std::deque<std::pair<int64_t, std::shared_ptr<Promise<Done>>>> settling_;  ///< by the last record each waits for
};

/// Waits until what was recorded so far is written, so that a client finds its earlier operations in the profile; not
/// longer than a second. Where nothing waits it costs a mutex. On the request's coroutine, which holds no locks.
Task<void> settleProfile(Request& request);

}  // namespace troupe::server
