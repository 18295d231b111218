// Documents of 1 KiB that a node reads from another one over a link, by a remote cursor, against a bare Asio echo of
// the same bytes that writes back all it has read. The other node is a whole server of one thread on WiredTiger; all
// is in its cache. Rounds alternate. Prints one JSON line per figure.
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "actors/transport/connector.hpp"
#include "actors/transport/link_manager.hpp"
#include "actors/transport/run_command.hpp"
#include "supervisors/daemon/server.hpp"
#include "test/bench/support/bare_echo.hpp"
#include "test/bench/support/directory.hpp"
#include "test/bench/support/measure.hpp"

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace troupe;
using namespace troupe::bench;
using Clock = std::chrono::steady_clock;

constexpr size_t kDocument = 1024;
constexpr int kDocuments = 100'000;
constexpr const char* kKey = "c2VjcmV0MTIzNDU2Nzg5";

uint16_t freePort() {
  asio::io_context io;
  return tcp::acceptor(io, {asio::ip::address_v4::loopback(), 0}).local_endpoint().port();
}

/// A node that reads, and the server that it reads from.
class ReaderAndServer {
 public:
  explicit ReaderAndServer(const std::string& directory) : server_(options(directory)) {
    const Status started = server_.start();
    if (!started.isOK()) throw BenchError(started.toString());
    link::LinkSettings settings;
    settings.key = kKey;
    settings.random = auth::secureRandom();
    settings.connect = *link::makeConnector(node.io(), {}, true);
    node.spawn<link::LinkManager>(link::kLinksPath, std::make_shared<link::Links>(node, settings));
    node.wait(connect());
    fill();
  }
  ~ReaderAndServer() {
    node.shutdown();
    server_.stop();
  }
  ReaderAndServer(const ReaderAndServer&) = delete;

  std::string name() const { return "127.0.0.1:" + std::to_string(port_); }
  /// Documents per second of passes over the collection, one after another for as long as the echo is measured.
  double round(double seconds) {
    const auto from = Clock::now();
    std::chrono::duration<double> spent{0};
    int passes = 0;
    for (; spent.count() < seconds; ++passes) {
      const auto read = node.wait(readAll(node, name()));
      if (!read.isOK()) throw BenchError(read.status().toString());
      if (*read != kDocuments) throw BenchError("documents are missing");
      spent = Clock::now() - from;
    }
    return passes * kDocuments / spent.count();
  }

 private:
  supervisors::Options options(const std::string& directory) const {
    std::ofstream(directory + "/key") << kKey;
    std::filesystem::permissions(directory + "/key", std::filesystem::perms::owner_read);
    supervisors::Options options;
    options.port = port_;
    options.nodeName = name();
    options.dbPath = directory + "/data";
    options.keyFile = directory + "/key";
    options.logPath = directory + "/log";
    options.cacheSizeGB = 1;
    options.threads = 1;
    return options;
  }
  /// The link is there, or is being opened, when this ends.
  Task<void> connect() {
    Payload wanted = local(link::ConnectPeer{name()});
    (void)co_await node.ask(node.address(link::kLinksPath), std::move(wanted));
  }
  void fill() {
    const bson::Document empty = bson::doc("_id", int64_t{0}, "pad", "");
    const std::string pad(kDocument - empty.bytes().size(), 'x');
    for (int64_t from = 0; from < kDocuments; from += 1000) {
      bson::Builder insert;
      insert.append("insert", "documents").openArray("documents");
      for (int64_t id = from; id < from + 1000; ++id) insert.push(bson::doc("_id", id, "pad", pad));
      insert.close();
      const auto done = node.wait(transport::runCommand(node, name(), "bench", insert.finish()));
      if (!done.isOK()) throw BenchError(done.status().toString());
    }
  }
  static Task<StatusWith<int>> readAll(Node& node, std::string server) {
    bson::Document find = bson::doc("find", "documents");
    std::string database = "bench";
    auto cursor = co_await transport::RemoteCursor::open(node, std::move(server), std::move(database), std::move(find));
    if (!cursor.isOK()) co_return cursor.status();
    for (int count = 0;;) {
      const auto batch = co_await (*cursor)->next();
      if (!batch.isOK()) co_return batch.status();
      if (batch->empty()) co_return count;
      count += static_cast<int>(batch->size());
    }
  }

  const uint16_t port_ = freePort();
  supervisors::Server server_;
  Node node{{.name = "127.0.0.1:1", .threads = 1}};
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv, {{"rounds", "5"}, {"seconds", "1"}, {"directory", "/var/tmp"}});
  return troupe::bench::run([&] {
    const Directory directory(arguments.text("directory"), {"data"});
    ReaderAndServer pair(directory.path());
    // As much on the way as the cursor's credit.
    const double seconds = arguments.decimal("seconds");
    const int window = static_cast<int>(transport::CursorOptions().credit / kDocument);
    std::vector<double> read, echoed;
    for (int i = 0; i < arguments.number("rounds"); ++i) {
      read.push_back(pair.round(seconds));
      echoed.push_back(bareRound(kDocument, window, true, seconds));
    }
    report({"1 KiB documents by a remote cursor", "bare Asio echo of the same bytes, all that has come", "documents/s",
            median(read), median(echoed), 0.6});
  });
}
