#pragma once
#include <string_view>

namespace troupe::supervisors {

/// Tells the service manager that started the process ("READY=1", "STOPPING=1", "STATUS=..."), by the datagram socket
/// named in NOTIFY_SOCKET (systemd's Type=notify). Does nothing where there is none; a failure is of no consequence.
/// Any thread.
void notifyServiceManager(std::string_view state);

}  // namespace troupe::supervisors
