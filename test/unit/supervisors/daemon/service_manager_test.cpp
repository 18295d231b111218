#include "supervisors/daemon/service_manager.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace troupe::supervisors {
namespace {

TEST(ServiceManager, GetsTheStateAsADatagram) {
  const std::string path = testing::TempDir() + "troupe_notify_" + std::to_string(getpid());
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  notifyServiceManager("READY=1");
  unsetenv("NOTIFY_SOCKET");
  char buffer[64] = {};
  ASSERT_GT(::recv(socket, buffer, sizeof buffer - 1, MSG_DONTWAIT), 0);
  EXPECT_STREQ(buffer, "READY=1");
  ::close(socket);
  ::unlink(path.c_str());
}

TEST(ServiceManager, IsLeftAloneWhereThereIsNone) {
  unsetenv("NOTIFY_SOCKET");
  notifyServiceManager("READY=1");
}

}  // namespace
}  // namespace troupe::supervisors
