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

/// A service manager's socket, whether or not the environment names it.
class ServiceManager : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  void TearDown() override {
    unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
    ::unlink(path_.c_str());
  }
  /// The next datagram, or "" if none has come.
  std::string received() {
    char buffer[64] = {};
    return ::recv(socket_, buffer, sizeof buffer - 1, MSG_DONTWAIT) > 0 ? buffer : "";
  }

  const std::string path_ = testing::TempDir() + "troupe_notify_" + std::to_string(getpid());
  const int socket_ = ::socket(AF_UNIX, SOCK_DGRAM, 0);
};

TEST_F(ServiceManager, GetsTheStateAsADatagram) {
  setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  EXPECT_EQ(notifyServiceManager("READY=1"), Notified::kSent);
  EXPECT_EQ(received(), "READY=1");
}

TEST_F(ServiceManager, IsLeftAloneWhereThereIsNone) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_EQ(notifyServiceManager("READY=1"), Notified::kNoManager);
  for (const char* name : {"", "relative/path", "vsock:2:1234"}) {
    setenv("NOTIFY_SOCKET", name, 1);
    EXPECT_EQ(notifyServiceManager("READY=1"), Notified::kNoManager) << name;
  }
  EXPECT_EQ(received(), "") << "nobody asked for it";
}

TEST_F(ServiceManager, ThatDoesNotListenIsNoReasonToStop) {
  setenv("NOTIFY_SOCKET", (path_ + "_gone").c_str(), 1);
  EXPECT_EQ(notifyServiceManager("READY=1"), Notified::kFailed);
  EXPECT_EQ(received(), "");
}

}  // namespace
}  // namespace troupe::supervisors
