#include "supervisors/daemon/service_manager.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace troupe::supervisors {

namespace {

/// By errno. The manager will think that the process does not start; the process goes on nevertheless.
Notified failed() {
  spdlog::warn("the service manager could not be told: {}", std::strerror(errno));
  return Notified::kFailed;
}

}  // namespace

Notified notifyServiceManager(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (!path || (path[0] != '/' && path[0] != '@')) return Notified::kNoManager;
  sockaddr_un address{};
  const size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return Notified::kNoManager;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // an abstract socket
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return failed();
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const auto sent = ::sendto(socket, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                             reinterpret_cast<const sockaddr*>(&address), size);
  const Notified outcome = sent < 0 ? failed() : Notified::kSent;
  ::close(socket);
  return outcome;
}

}  // namespace troupe::supervisors
