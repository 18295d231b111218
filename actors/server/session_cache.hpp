#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/server/session_key.hpp"
#include "actors/server/session_owners.hpp"
#include "messaging/clock/time_point.hpp"

namespace troupe::server {

/// What the jobs that keep sessions have done, as serverStatus.logicalSessionRecordCache shows it. Dates are in
/// milliseconds since 1970.
struct SessionJobs {
  int64_t refreshes = 0, failedRefreshes = 0;
  int64_t refreshMillis = 0, refreshedAt = 0, refreshed = 0, ended = 0, cursorsClosed = 0;  ///< of the last one
  int64_t reaps = 0, failedReaps = 0;
  int64_t reapMillis = 0, reapedAt = 0, reaped = 0;  ///< of the last one
  bool isRefreshed = false;                          ///< the last refresh has succeeded
};

/// The logical sessions that this node has seen in use (SES-004): key, owner's name, time of the last use. A session is
/// - used: since it was last written to config.system.sessions,
/// - known: written there, and not used since,
/// - ended: by its client; it is kept until it was deleted there, and used again it is a session again.
/// The table is bounded by the parameter maxSessions: a new session takes the place of the one unused for longest,
/// but never of one that a running operation uses, and is noted again at its next use. A session takes less than 200
/// bytes in all. Reading goes in pieces of bounded length, so that it delays no operation. Thread-safe.
class SessionCache {
  struct Slot;

 public:
  /// `most`: sessions remembered at a time; outlives this. `seed`: of the hash, so that no client can choose ids that
  /// collide.
  explicit SessionCache(const std::atomic<int64_t>& most, uint64_t seed = 0x9e3779b97f4a7c15)
      : most_(most), seed_(seed) {}
  SessionCache(const SessionCache&) = delete;
  SessionCache& operator=(const SessionCache&) = delete;

  /// The session of a running operation: until it is gone nothing ends the session but a command that says so.
  /// Move-only; must not outlive the cache.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Use();
    /// Null for an operation without a session.
    const SessionKey* key() const;

   private:
    friend class SessionCache;
    explicit Use(Slot* slot) : slot_(slot) {}
    Slot* slot_ = nullptr;
  };

  /// Inserts or refreshes the session. `users`: of whom the key's owner is the digest; empty for no user, and where
  /// they are not known.
  Use use(const SessionKey& key, std::span<const UserKey> users, TimePoint now);
  void touch(const SessionKey& key, std::span<const UserKey> users, TimePoint now) { use(key, users, now); }
  /// Ends the session, if it is here or not: it may be in the collection. Whether it was here.
  bool end(const SessionKey& key, TimePoint now);

  /// A session as it was at some moment.
  struct Row {
    SessionKey key;
    TimePoint lastUse;
    std::string user;        ///< its owners, as they are shown
    bool isRunning = false;  ///< an operation uses it
    int64_t useNumber = 0;   ///< of the last use: the later, the higher
  };
  /// A position in the table, for reading it piece by piece. Sessions that come or go meanwhile may be missed.
  struct Place {
    size_t next = 0;
    bool atEnd = false;
  };
  /// kLive: all but ended ones. What a running operation uses counts as used.
  enum class Which : uint8_t { kLive, kUsed, kKnown, kEnded };
  /// The next sessions of that kind, `most` at the most; none does not mean that the end is reached.
  std::vector<Row> look(Place& place, size_t most, Which which) const;
  /// The end of a page of sessions: behind that use, which was the last one of that session.
  struct Mark {
    SessionKey key;
    int64_t useNumber = 0;
  };
  struct Page {
    std::vector<Row> rows;
    std::optional<Mark> next;  ///< behind which more sessions may follow; nothing at the end
  };
  /// Live sessions, the one used last first, beginning behind `after` (nothing: with the first). Nothing where the
  /// session of `after` was used again or is gone: its place is not known any more, and `addOlder` finds the page.
  std::optional<Page> recent(const std::optional<Mark>& after, size_t most) const;
  /// Adds the sessions of a piece of the table that were last used before that use, and leaves the `most` of `page`
  /// that were used last; a heap by `useNumber`, its lowest first.
  void addOlder(Place& place, int64_t useNumber, size_t most, std::vector<Row>& page) const;
  /// Live sessions with that id, of all owners.
  std::vector<SessionKey> keysOf(std::string_view id) const;
  bool contains(const SessionKey& key) const;
  /// The next owners whose users are known; none does not mean that the end is reached.
  std::vector<SessionOwners::Known> owners(Place& place, size_t most) const;

  // The steps of a refresh (SES-005). What fails is not told, and comes again at the next one.
  /// They were written to the collection: those that were not used again are known now.
  void noteWritten(std::span<const Row> rows);
  /// They were deleted there. Those that were used again meanwhile stay, as does one that was ended again while an
  /// operation uses it: it may be written again until that operation is over.
  void noteDeleted(std::span<const SessionKey> keys);
  /// They are not in the collection any more. Gives those that are gone now: not used since they were written.
  std::vector<SessionKey> expire(std::span<const SessionKey> keys);
  /// Without a collection: ends up to `most` sessions unused since then, and gives them.
  std::vector<SessionKey> endIdle(TimePoint unusedSince, TimePoint now, size_t most);

  size_t size() const;        ///< live ones
  size_t ended() const;       ///< that are kept until they were deleted from the collection
  int64_t displaced() const;  ///< how many gave their place to newer ones
  size_t bytes() const;       ///< memory of the table, about
  SessionJobs jobs() const;
  void noteRefresh(const SessionJobs& last);  ///< the fields of the last refresh, `isRefreshed`
  void noteReap(const SessionJobs& last, bool succeeded);

 private:
  using Index = uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();
  static constexpr size_t kSlotsAtOnce = 4096;
  enum class State : uint8_t { kFree, kUsed, kKnown, kEnded };

  struct Slot {
    SessionKey key;
    TimePoint lastUse;
    int64_t useNumber = 0;             ///< falls from the newest to the oldest; 0: at the oldest end
    std::atomic<uint32_t> running{0};  ///< operations; falls without the lock
    SessionOwners::Id owner = SessionOwners::kUnknown;
    Index older = kNone, newer = kNone;  ///< in the order of use
    Index nextOfBucket = kNone;
    State state = State::kFree;
    bool isRunning() const { return running.load(std::memory_order_acquire) > 0; }
    bool isLive() const { return state == State::kUsed || state == State::kKnown; }
  };

  // With the lock held.
  size_t bucketOf(std::string_view id) const;
  Index find(const SessionKey& key) const;
  Index insert(const SessionKey& key, std::span<const UserKey> users);
  void remove(Index index);
  void makeRoom(TimePoint now);
  void growBuckets();
  void setState(Slot& slot, State state);
  void unlink(Index index);
  void linkNewest(Index index);
  void linkOldest(Index index);
  Row rowOf(const Slot& slot) const;
  static bool isOf(const Slot& slot, Which which);

  const std::atomic<int64_t>& most_;
  const uint64_t seed_;
  mutable std::mutex mutex_;
  std::deque<Slot> slots_;  ///< never move: uses point into it
  std::vector<Index> free_;
  std::vector<Index> buckets_ = std::vector<Index>(64, kNone);
  Index oldest_ = kNone, newest_ = kNone;
  SessionOwners owners_;
  size_t live_ = 0, ended_ = 0;
  int64_t uses_ = 0;
  int64_t displaced_ = 0;
  SessionJobs jobs_;
};

inline SessionCache::Use::~Use() {
  if (slot_) slot_->running.fetch_sub(1, std::memory_order_release);
}
inline const SessionKey* SessionCache::Use::key() const { return slot_ ? &slot_->key : nullptr; }

}  // namespace troupe::server
