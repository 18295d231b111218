#include "supervisors/cli/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe::supervisors {

bool isFreePort(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0;
  close(fd);
  return bound;
}

uint16_t freePort(uint16_t port, int count) {
  for (int i = 0; i < count && port + i <= 65535; ++i)
    if (isFreePort(static_cast<uint16_t>(port + i))) return static_cast<uint16_t>(port + i);
  return 0;
}

}  // namespace troupe::supervisors
