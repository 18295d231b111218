#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "actors/server/authorized_namespace.hpp"
#include "actors/server/news_pace.hpp"
#include "actors/server/news_source.hpp"
#include "actors/server/result_stream.hpp"
#include "actors/server/session_key.hpp"
#include "actors/server/table_piece.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/node_charge.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::server {

/// How far the log had come when it was read to its end.
struct LogRead {
  int64_t news = 0;     ///< CappedWaiters::newsOf, asked before
  bson::Timestamp end;  ///< the visible end, asked afterwards: what has a later time is news, or moves it
};

/// State of a tailable cursor: at the end of its collection it waits for more.
struct Tail {
  NewsSource news;
  bool awaitData = false;            ///< its getMore waits a while for news
  NewsPace pace;                     ///< of the answers of its getMores
  OpTime sent = {};                  ///< of the log: this node's newest entry when the last answer was read
  std::optional<LogRead> read = {};  ///< of the log, when there was nothing more behind what was read
};

/// Where a scan of a collection has come to, for clients that want to go on there with another cursor
/// (`$_requestResumeToken`).
struct ScanPosition {
  std::string ident;         ///< of the table: its records have other numbers once the data were copied anew
  storage::RecordId record;  ///< of the last result that was given
};

/// A query that gives its results in batches. Between batches it lies in the registry without a snapshot; while a
/// command works on it, it is pinned: owned by that command alone.
struct ClientCursor {
  ClientCursor();
  ~ClientCursor();

  int64_t id = 0;
  std::string ns;
  bson::Document command;                ///< what opened it, as currentOp shows it
  bson::Document session;                ///< the `lsid` it belongs to, or empty
  std::optional<SessionKey> sessionKey;  ///< the same, with its owner
  std::vector<UserKey> owners;           ///< its creators; only they may use it
  std::vector<Grant> grants;             ///< what its results need of the client, to be checked again
  int64_t authorizedAt = 0;              ///< `Client::rightsVersion` of the request for which that was last checked
  std::shared_ptr<std::vector<storage::Namespace>> furtherNamespaces;  ///< as Request::furtherNamespaces
  bool noTimeout = false;
  bool fromSecondaries = false;  ///< its client has agreed to read from secondaries; drivers say so once
  TimePoint created;
  TimePoint lastUsed;
  std::optional<Duration> maxTimeLeft;  ///< of the maxTimeMS of its command, for the work of the next ones
  int64_t returned = 0;
  int64_t batches = 0;
  int64_t keysExamined = 0, docsExamined = 0;  ///< by its commands so far
  size_t lastRawBytes = 1024;                  ///< of its last batch for another node
  std::optional<int64_t> limit;                ///< results after which it is known to be exhausted
  std::optional<Tail> tail;
  std::optional<ScanPosition> position;  ///< while it is asked for
  storage::StashedOperation stash;       ///< what the last command left for the next one
  std::unique_ptr<ResultStream> stream;
  storage::NodeCharge memory;          ///< of the cursor itself, once it is registered
  std::optional<bson::Document> held;  ///< a result that did not fit into the last batch
  storage::NodeCharge heldMemory;      ///< of it
  storage::RecordId heldRecord;        ///< its record, where the position is asked for
};

/// A cursor as currentOp shows it: {cursorId, nDocsReturned, nBatchesReturned, noCursorTimeout, originatingCommand}.
bson::Document shownCursor(const ClientCursor& cursor);

/// The node's open cursors. Thread-safe. An idle cursor ends after `cursorTimeoutMillis`.
class CursorRegistry {
 public:
  /// `randomId` gives ids that cannot be guessed (non-zero).
  explicit CursorRegistry(std::function<int64_t()> randomId) : randomId_(std::move(randomId)) {}

  /// Keeps a cursor and gives it an id.
  int64_t add(std::unique_ptr<ClientCursor> cursor);
  /// Takes the cursor out for one command. Errors: CursorNotFound; CursorInUse (12051) while another command has it;
  /// Unauthorized when `users` hold none of its owners; 50736 to 50738 when `session` (an `lsid` or empty) is not its
  /// own.
  StatusWith<std::unique_ptr<ClientCursor>> pin(int64_t id, std::string_view ns, const std::vector<UserKey>& users,
                                                bson::View session, storage::OperationContext* operation);
  /// Puts a pinned cursor back. False when it was killed meanwhile: the caller then drops it.
  bool unpin(std::unique_ptr<ClientCursor>& cursor, TimePoint now);
  /// Forgets a pinned cursor that is exhausted or failed.
  void forget(int64_t id);

  enum class Killed { kKilled, kNotFound };
  /// Whether the cursor was opened by one of `users`, or without a login. Errors: CursorNotFound.
  StatusWith<bool> belongsTo(int64_t id, const std::vector<UserKey>& users) const;
  /// Ends a cursor; one that is in use ends with its command, which is interrupted (CursorKilled).
  Killed kill(int64_t id);
  /// What the client of a cursor that was ended is told by its next getMore: that the plan was killed, since the
  /// collection it ran on is gone (QueryPlanKilled), or that there is no such cursor. The getMore of one in use ends
  /// with QueryPlanKilled or CursorKilled.
  enum class Afterwards { kPlanKilled, kNotFound };
  /// Ends every cursor for which `which` is true; returns how many.
  int64_t killIf(const std::function<bool(const ClientCursor&)>& which,
                 Afterwards afterwards = Afterwards::kPlanKilled);
  int64_t killIdle(TimePoint unusedSince);
  /// Ends the cursors of these sessions, idle or in use, `most` at the most; returns how many. Costs nothing for a
  /// session without cursors.
  int64_t killOf(std::span<const SessionKey> sessions, int64_t most = std::numeric_limits<int64_t>::max());
  size_t countOf(const SessionKey& session) const;
  /// The sessions of that id (16 bytes) that have cursors.
  std::vector<SessionKey> sessionsOf(std::string_view id) const;
  /// Of a piece of the table, so many buckets, the sessions that have cursors; with `unusedSince` those of which no
  /// cursor is in use or was used since then. None does not mean that the end is reached.
  std::vector<SessionKey> sessions(TablePlace& place, size_t buckets, std::optional<TimePoint> unusedSince = {}) const;

  /// A session with cursors, and its users: the cache of sessions may have forgotten both.
  struct OwnedSession {
    SessionKey key;
    std::vector<UserKey> owners;
  };
  /// The same pieces with the users of the sessions.
  std::vector<OwnedSession> ownedSessions(TablePlace& place, size_t buckets) const;

  struct Statistics {
    int64_t open = 0;
    int64_t pinned = 0;
    int64_t noTimeout = 0;
    int64_t timedOut = 0;
    int64_t totalOpened = 0;
  };
  Statistics statistics() const;
  void each(const std::function<void(const ClientCursor&)>& visitIdle) const;
  /// What each cursor in use was when its command took it, as currentOp shows it, by the id of that operation.
  std::unordered_map<int64_t, bson::Document> inUse() const;

 private:
  struct Slot {
    std::unique_ptr<ClientCursor> cursor;  ///< null while pinned
    std::string ns;
    storage::OperationContext* operation = nullptr;  ///< the operation that has pinned it
    bson::Document shown;                            ///< while pinned: `shownCursor`
    bson::Document session;
    std::optional<SessionKey> sessionKey;
    std::vector<UserKey> owners;
    bool killed = false;
    storage::NodeCharge memory;           ///< of this slot, once its cursor is gone
    std::optional<TimePoint> planKilled;  ///< the last use of a cursor that is gone, of which its client is still told
  };
  bool isUsedSince(int64_t id, TimePoint when) const;
  std::unique_ptr<ClientCursor> killLocked(std::unordered_map<int64_t, Slot>::iterator it,
                                           ErrorCode why = ErrorCode::kCursorKilled);
  void erase(std::unordered_map<int64_t, Slot>::iterator it);

  std::function<int64_t()> randomId_;
  mutable std::mutex mutex_;
  std::unordered_map<int64_t, Slot> slots_;
  /// Only sessions that have cursors.
  std::unordered_map<SessionKey, std::unordered_set<int64_t>, SessionIdHash> bySession_;
  int64_t timedOut_ = 0;
  int64_t opened_ = 0;
};

}  // namespace troupe::server
