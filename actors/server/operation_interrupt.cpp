#include "actors/server/operation_interrupt.hpp"

#include "actors/server/cursor_registry.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

int64_t interruptForRollback(const ServerContext& server) {
  int64_t ended = 0;
  server.clients.each([&](Client& client) {
    client.withOperation([&](storage::OperationContext& operation) {
      if (operation.lockerId() == 0) return;
      operation.kill(ErrorCode::kInterruptedDueToReplStateChange);
      ++ended;
    });
  });
  server.cursors.killIf([](const ClientCursor&) { return true; });
  return ended;
}

}  // namespace troupe::server
