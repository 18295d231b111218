#pragma once
#include <string_view>

namespace troupe::supervisors {

enum class Notified {
  kNoManager,  ///< nothing was sent: NOTIFY_SOCKET names no socket
  kSent,
  kFailed,  ///< there is a name, but nobody listens there; logged
};

/// Tells the service manager that started the process ("READY=1", "STOPPING=1", "STATUS=..."), by the datagram socket
/// named in NOTIFY_SOCKET (systemd's Type=notify). Does not block. Any thread.
Notified notifyServiceManager(std::string_view state);

}  // namespace troupe::supervisors
