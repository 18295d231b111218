#include "messaging/envelope/envelope.hpp"

namespace troupe {

ClusterMetadata::ClusterMetadata() = default;

void ReplyDuty::abandon() noexcept {
  complete(Status(ErrorCode::kShutdownInProgress, "the receiver ended without answering"));
}

}  // namespace troupe
