#include <stdexcept>

#include "actors/transport/connector.hpp"
#include "actors/transport/network.hpp"

namespace troupe::transport {

namespace {

/// A port whose next connection comes when it is closed: never.
class SilentPort final : public Port {
 public:
  Future<StatusWith<std::shared_ptr<Arrival>>> accept() override {
    waiting_.emplace();
    return waiting_->future();
  }
  void close() override {
    if (!waiting_) return;
    auto waiting = std::move(*waiting_);
    waiting_.reset();
    waiting.set(Status(ErrorCode::kShutdownInProgress, "the port is closed"));
  }

 private:
  std::optional<Promise<StatusWith<std::shared_ptr<Arrival>>>> waiting_;
};

class NoNetwork final : public Network {
 public:
  std::vector<std::unique_ptr<Port>> listen(Node&, const std::vector<std::string>& addresses, uint16_t,
                                            const tls::TlsOptions&) override {
    std::vector<std::unique_ptr<Port>> ports;
    for (size_t i = 0; i < addresses.size(); ++i) ports.push_back(std::make_unique<SilentPort>());
    return ports;
  }
  StatusWith<link::Connector> connector(Node&, const tls::TlsOptions&, bool) override {
    return link::refusingConnector({ErrorCode::kHostUnreachable, "this node has no network"});
  }
};

}  // namespace

std::unique_ptr<Port> Network::listenLocally(Node&, const std::string&, unsigned) {
  throw std::runtime_error("this network has no local sockets");
}

std::shared_ptr<Network> makeNoNetwork() { return std::make_shared<NoNetwork>(); }

}  // namespace troupe::transport
