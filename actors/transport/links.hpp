#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/server/connection_gate.hpp"
#include "actors/transport/settings.hpp"

namespace troupe::link {

/// Path of the LinkManager on every node; its children are the links, "/node/links/<peer>".
inline constexpr const char* kLinksPath = "/node/links";

// Messages to a LinkManager (local payloads).

/// Opens a link to that node and keeps it open. An ask is answered at once.
struct ConnectPeer {
  std::string peer;
};
/// Closes the link to that node and forgets it.
struct DisconnectPeer {
  std::string peer;
};
/// The nodes of the cluster besides this one: a link to each is opened with the first message for it, and links to
/// others are closed.
struct SetPeers {
  std::vector<std::string> peers;
};
/// Asks that node for a sign of life over a link; one to a stranger is opened for it and forgotten after a while.
/// Answered with `PeerPinged`, or why it did not come about.
struct PingPeer {
  std::string peer;
  size_t bytes = 0;  ///< that go along
  Duration timeout = std::chrono::seconds(10);
};
struct PeerPinged {
  Duration roundTrip;
};
/// A connection that has begun with the magic of a link; the listener hands it over.
struct IncomingConnection {
  std::shared_ptr<transport::Transport> transport;
  std::string bytes;   ///< read so far
  std::string remote;  ///< for logs
  bool fromLoopback = false;
  server::ConnectionGate::Place place = {};  ///< kept as long as the connection
};

/// Why the link that the node opens to that peer is not open; empty: it is, or there is none. Thread-safe.
std::string linkError(const Node& node, const std::string& peer);

/// One end of a link as metrics show it.
struct LinkFigures {
  std::string peer;
  bool opened = true;  ///< by this node; otherwise accepted
  std::shared_ptr<const LinkCounters> counters;
  Outbox::Lengths lengths;
};

/// All links of a node, for senders and for metrics. It is the default route: a message for a member of the cluster
/// goes to the outbox of its link, which is opened when needed. Thread-safe; the actors below `kLinksPath` do the rest.
class Links final : public Route, public std::enable_shared_from_this<Links> {
 public:
  Links(Node& node, LinkSettings settings);

  /// To a member: into its outbox. To anyone else: HostUnreachable.
  void send(Envelope envelope) noexcept override;

  const LinkSettings& settings() const { return settings_; }
  Identity identity() const;
  /// Counts connections that were rejected before it was known, or proven, who they come from.
  const std::shared_ptr<LinkCounters>& strangers() const { return strangers_; }
  /// Every end of a link, by peer.
  std::vector<LinkFigures> figures() const;

  // The manager's.
  /// How a peer came to be one.
  enum class Since { kAsked, kMember, kOnce };
  struct Peer {
    std::shared_ptr<Outbox> outbox;
    Since since = Since::kAsked;
    TimePoint usedAt;  ///< of kOnce
  };
  /// The peer's outbox; made if there is none. A stronger reason to know it replaces a weaker one.
  std::shared_ptr<Outbox> know(const std::string& peer, Since since);
  void forget(const std::string& peer);
  std::map<std::string, Peer> peers() const;
  /// Marks a peer of kOnce as used.
  void touch(const std::string& peer);
  /// A new outbox for the answers of an accepted link; its figures continue those of the peer's earlier links.
  std::shared_ptr<Outbox> accepted(const std::string& peer);
  /// An outbox for an accepted link whose peer is not known yet.
  std::shared_ptr<Outbox> acceptedFromStranger();

 private:
  Node& node_;
  const LinkSettings settings_;
  const std::shared_ptr<LinkCounters> strangers_ = std::make_shared<LinkCounters>();
  mutable std::shared_mutex mutex_;  // guards the maps
  std::map<std::string, Peer> peers_;
  struct Accepted {
    std::shared_ptr<LinkCounters> counters;
    std::weak_ptr<Outbox> outbox;  ///< of the connection that stands
  };
  std::map<std::string, Accepted> accepted_;
};

}  // namespace troupe::link
