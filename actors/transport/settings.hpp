#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/kernel/future.hpp"
#include "actors/server/cluster_clock.hpp"
#include "actors/transport/outbox.hpp"
#include "actors/transport/transport.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/link/handshake.hpp"
#include "messaging/link/link_life.hpp"

namespace troupe {
class Node;
}
namespace troupe::log {
class Log;
}

namespace troupe::link {

/// Hosts that may link without the cluster's key. With a key none may.
enum class Anonymous {
  kNobody,    ///< no links at all then
  kLoopback,  ///< nodes on this machine
  kAnyone,    ///< every client that reaches the port: for networks where only the cluster's nodes are
};

/// A connection being opened.
struct Connecting {
  Future<StatusWith<std::shared_ptr<transport::Transport>>> outcome;
  std::function<void()> abandon;  ///< ends the try; the outcome is a failure then, if it was not there before
  std::function<std::string()> progress = {};  ///< what the try waits for, for people; may be null
};
/// Opens a connection to a node by its name. The one place where a link meets the network: tests give pipes.
using Connector = std::function<Connecting(const std::string& peer)>;

/// Settings common to all links of a node.
struct LinkSettings {
  std::string key;  ///< the cluster's; empty: no authentication
  Anonymous anonymous = Anonymous::kNobody;
  auth::RandomSource random;  ///< for nonces: unpredictable but in tests
  Connector connect;
  log::Log* log = nullptr;                      ///< outlives the links; may be null
  std::shared_ptr<server::ClusterClock> clock;  ///< null: links carry no cluster times
  LinkTimes times;
  Outbox::Limits limits;
  size_t largestFrame = kLargestFrame;
  size_t handshakesAtOnce = 128;                    ///< of connections from other nodes
  Duration forgetAfter = std::chrono::seconds(60);  ///< links that were opened for one question alone
};

}  // namespace troupe::link
