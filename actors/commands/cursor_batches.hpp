#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/server/cursor_registry.hpp"
#include "actors/server/request.hpp"
#include "actors/server/result_stream.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::commands {
using namespace server;

/// How much one batch may hold.
struct BatchLimit {
  std::optional<int64_t> documents;
  size_t bytes = 16 * 1024 * 1024;
};

/// A registered cursor while one command works on it. It ends with the command in any way but by `putBack`, also when
/// the command's connection is lost.
class PinnedCursor {
 public:
  PinnedCursor(ServerContext& server, std::unique_ptr<ClientCursor> cursor)
      : server_(server), cursor_(std::move(cursor)) {}
  PinnedCursor(const PinnedCursor&) = delete;
  ~PinnedCursor();
  ClientCursor& operator*() const { return *cursor_; }
  ClientCursor* operator->() const { return cursor_.get(); }
  /// Leaves the cursor to the next command; not to be used afterwards. False: it was killed meanwhile, and has ended.
  bool putBack();

 private:
  ServerContext& server_;
  std::unique_ptr<ClientCursor> cursor_;
};

/// Ends the `cursor` of a reply: its id (0: there is no more), its namespace, and the time of a snapshot, at which a
/// client's next reads go on.
void endCursor(Request& request, int64_t id, std::string_view ns);

/// Writes `cursor: {<name>: [...], id, ns}` into the reply: results until the batch is full or the stream ends, letting
/// others run meanwhile. Keeps the cursor in the registry when there may be more (unless `single`), and gives its id.
/// Errors also: the end of the operation, after which the dispatcher ends the cursor (`Request::cursorId`).
Task<Status> replyWithCursor(Request& request, std::unique_ptr<ClientCursor> cursor, BatchLimit limit, bool single);

/// Replies with a query's only batch: no cursor is made, so the stream may borrow from the request.
Task<Status> replyWithOnlyBatch(Request& request, std::string_view ns, std::unique_ptr<ResultStream> stream,
                                std::optional<int64_t> documents);

/// The same for getMore with a pinned cursor, which outlives the task. A tailable one waits for its first result as
/// long as `patience`. Errors also: what ended a cursor that had more to give (CursorKilled, QueryPlanKilled ...).
Task<Status> replyWithNextBatch(Request& request, PinnedCursor& cursor, BatchLimit limit,
                                std::optional<std::chrono::milliseconds> patience = {});

/// A cursor for the request, not yet registered.
std::unique_ptr<ClientCursor> newCursor(const Request& request, const std::string& ns,
                                        std::unique_ptr<ResultStream> stream);

}  // namespace troupe::commands
