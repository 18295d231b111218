#include "actors/transport/local_port.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace troupe::transport {
namespace {

namespace fs = std::filesystem;

class LocalPortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/troupe-local-port-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    path = (folder_ / "s.sock").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Port> open(unsigned permissions = 0700) { return openLocalPort(io, path, permissions); }
  /// Another socket that is bound to the path; the caller closes it.
  int bindAnother(bool listens) const {
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (listens) {
      EXPECT_EQ(::listen(descriptor, 1), 0);
    }
    return descriptor;
  }

  boost::asio::io_context io;
  std::string path;

 private:
  fs::path folder_;
};

TEST_F(LocalPortTest, HasThePermissionsAskedForWhateverTheUmask) {
  for (const unsigned permissions : {0700u, 0770u, 0777u}) {
    const mode_t before = ::umask(0077);
    const auto port = open(permissions);
    ::umask(before);
    struct stat found = {};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, permissions);
  }
}

TEST_F(LocalPortTest, TakesItsFileAlong) {
  auto port = open();
  EXPECT_TRUE(fs::exists(path));
  port->close();
  EXPECT_FALSE(fs::exists(path));
  port = open();
  port.reset();
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(LocalPortTest, ReplacesWhatADeadProcessHasLeft) {
  ::close(bindAnother(true));
  ASSERT_TRUE(fs::exists(path));
  EXPECT_NO_THROW(open());
}

TEST_F(LocalPortTest, LeavesTheSocketOfALiveProcess) {
  const int other = bindAnother(true);
  EXPECT_THROW(open(), std::runtime_error);
  EXPECT_TRUE(fs::exists(path));
  ::close(other);
}

TEST_F(LocalPortTest, LeavesAFileThatIsNoSocket) {
  std::ofstream(path) << "mine";
  EXPECT_THROW(open(), std::runtime_error);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(LocalPortTest, DoesNotRemoveTheSocketThatAnotherHasPutInItsPlace) {
  auto port = open();
  fs::remove(path);
  const int other = bindAnother(false);
  port->close();
  EXPECT_TRUE(fs::exists(path));
  ::close(other);
}

TEST_F(LocalPortTest, RefusesAPathThatASocketCannotHave) {
  path += std::string(100, 'x');
  EXPECT_THROW(open(), std::runtime_error);
}

}  // namespace
}  // namespace troupe::transport
