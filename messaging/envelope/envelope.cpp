#include "messaging/envelope/envelope.hpp"

namespace troupe {

void ReplyDuty::abandon() noexcept {
  complete(Status(ErrorCode::kShutdownInProgress, "the receiver ended without answering"));
}

}  // namespace troupe
