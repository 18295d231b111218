#pragma once
#include "actors/server/cursor_registry.hpp"
#include "actors/server/request.hpp"
#include "storage/catalog/collection.hpp"

namespace troupe::commands {
using namespace server;

// Tailable cursors: after the last document of a capped collection they stay open and go on with what comes later; with
// `awaitData` their getMore waits a while for it. One whose position was removed ends with CappedPositionLost.

/// Whether the command (a find) asks for a tailable cursor, and may: FailedToParse and BadValue for options that do not
/// go together. `collection` may be null.
StatusWith<bool> wantsTailable(const Request& request, const storage::Collection* collection);

/// What the cursor that the command opens on the collection awaits; its read concern has been set up.
NewsSource newsFor(const Request& request, const storage::Collection& collection);

/// How long a getMore may wait for news; nothing when it does not wait. BadValue when it says so of a cursor that
/// cannot.
StatusWith<std::optional<std::chrono::milliseconds>> patience(const Request& getMore, const ClientCursor& cursor);

struct NewsWait {
  TimePoint until;           ///< at the latest
  bool gathers = false;      ///< further news behind the first ones (NewsPace)
  OpTime sent = {};          ///< of the log: what the reader has got so far
  bson::Timestamp end = {};  ///< of the log: where it ended for readers after it was read
};
/// Waits, without thread or snapshot, for news of the cursor's source since `known`. True when there are some.
/// Errors: the operation was killed; InterruptedAtShutdown.
Task<StatusWith<bool>> awaitNews(Request& request, NewsSource source, int64_t known, NewsWait wait);

}  // namespace troupe::commands
