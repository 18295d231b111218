#include "actors/transport/local_port.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <stdexcept>
#include <utility>

#include "actors/transport/transports.hpp"

namespace troupe::transport {

namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;

constexpr int kLocalBacklog = 1024;

/// Tells one file from another that has taken its name.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

FileIdentity identityOf(const std::string& path) {
  struct stat found = {};
  if (::lstat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino};
}

class LocalArrival final : public Arrival {
 public:
  explicit LocalArrival(stream_protocol::socket socket) : socket_(std::move(socket)) {}

  Future<bool> encryption() override {
    Promise<bool> plain;
    auto future = plain.future();
    plain.set(false);
    return future;
  }
  void giveUp() override {}
  std::optional<Remote> remote() const override { return Remote{kLocalPeer, true}; }
  std::shared_ptr<Transport> take(bool) override { return makeLocalTransport(std::move(socket_)); }

 private:
  stream_protocol::socket socket_;
};

class LocalPort final : public Port {
 public:
  LocalPort(stream_protocol::acceptor acceptor, std::string path)
      : acceptor_(std::move(acceptor)), path_(std::move(path)), file_(identityOf(path_)) {}
  ~LocalPort() override { LocalPort::close(); }

  void listen(boost::system::error_code& error) { acceptor_.listen(kLocalBacklog, error); }

  Future<StatusWith<std::shared_ptr<Arrival>>> accept() override {
    auto promise = std::make_shared<Promise<StatusWith<std::shared_ptr<Arrival>>>>();
    auto future = promise->future();
    acceptor_.async_accept([promise](const boost::system::error_code& error, stream_protocol::socket socket) {
      StatusWith<std::shared_ptr<Arrival>> outcome =
          Status(error == asio::error::operation_aborted ? ErrorCode::kShutdownInProgress : ErrorCode::kHostUnreachable,
                 error.message());
      if (!error) outcome = std::shared_ptr<Arrival>(std::make_shared<LocalArrival>(std::move(socket)));
      promise->set(std::move(outcome));
    });
    return future;
  }

  void close() override {
    if (!acceptor_.is_open()) return;
    // By now it may be the socket of another process, which was started in place of this one.
    if (identityOf(path_) == file_) ::unlink(path_.c_str());
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }

 private:
  stream_protocol::acceptor acceptor_;
  const std::string path_;
  const FileIdentity file_;
};

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error("cannot listen on the UNIX domain socket " + path + ": " + why +
                           " (--unixSocketPrefix names another folder, --nounixsocket does without)");
}

/// Removes what a process that was killed has left; nobody answers there.
void removeStale(asio::io_context& io, const stream_protocol::endpoint& endpoint) {
  const std::string path = endpoint.path();
  struct stat found = {};
  if (::lstat(path.c_str(), &found) != 0) return;
  if (!S_ISSOCK(found.st_mode)) fail(path, "a file that is no socket has this name");
  stream_protocol::socket probe(io);
  boost::system::error_code error;
  probe.connect(endpoint, error);
  if (!error) fail(path, "another process listens there");
  if (error != asio::error::connection_refused) fail(path, error.message());
  if (::unlink(path.c_str()) != 0) fail(path, "the socket of a process that has ended cannot be removed");
}

}  // namespace

std::unique_ptr<Port> openLocalPort(asio::io_context& io, const std::string& path, unsigned permissions) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) fail(path, "the path is too long");
  const stream_protocol::endpoint endpoint(path);
  removeStale(io, endpoint);
  boost::system::error_code error;
  stream_protocol::acceptor acceptor(io);
  acceptor.open(endpoint.protocol(), error);
  // The file takes the mode that the socket has when it is bound, less the umask: nobody else can be faster.
  if (!error && ::fchmod(acceptor.native_handle(), permissions) != 0) fail(path, "its permissions cannot be set");
  if (!error) acceptor.bind(endpoint, error);
  if (error) fail(path, error.message());
  auto port = std::make_unique<LocalPort>(std::move(acceptor), path);  // from now on the file goes with it
  if (::chmod(path.c_str(), permissions) != 0) fail(path, "its permissions cannot be set");
  port->listen(error);
  if (error) fail(path, error.message());
  return port;
}

}  // namespace troupe::transport
