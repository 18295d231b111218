#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/registry.hpp"
#include "actors/transport/incoming_link.hpp"
#include "actors/transport/links.hpp"
#include "messaging/schemas/supervision.capnp.h"
#include "messaging/schemas/testing.capnp.h"

namespace troupe::link {

/// The supervisor of a node's links ("/node/links"): opens one to every peer it is told of and starts it again when it
/// fails, takes the connections that other nodes open, and answers their `schema::Ping`. Operators restart, park and
/// resume a link through it: a parked link is cut until it is resumed.
class LinkManager final : public Actor {
 public:
  explicit LinkManager(std::shared_ptr<Links> links) : links_(std::move(links)) {}
  Behaviour behaviour() override;
  void onStart() override;
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  void connect(const std::string& peer, Links::Since since);
  void disconnect(const std::string& peer);
  void setPeers(const SetPeers& wanted);
  Task<void> ping(Received<PingPeer> wanted, Context context);
  void takeIncoming(const Payload& payload);
  /// Ends the oldest handshake if as many as allowed are under way.
  void makeRoomForHandshake();
  void accepted(const LinkAccepted& link);
  void control(schema::ControlChild::Reader wanted, Context& context);
  Status act(const std::string& child, schema::ControlChild::Action action);
  Status park(const std::string& peer);
  Status resume(const std::string& peer);
  void ended(const Down& down);
  /// Links that stand from before a restart of this actor.
  void adopt();
  void spawnLink(const std::string& peer);
  void watchChild(const Address& child);
  void forgetUnused();
  Address linkTo(const std::string& peer) const { return self().child(peer); }

  std::shared_ptr<Links> links_;
  std::set<std::string> children_;           ///< paths of all links that live
  std::map<std::string, Address> accepted_;  ///< by peer
  std::vector<std::string> shakingHands_;    ///< paths of accepted links that are not open yet, oldest first
  std::map<std::string, std::shared_ptr<LiveRow>> parked_;  ///< by peer, with the row that shows it
  uint64_t lastAccepted_ = 0;
  int64_t refused_ = 0;
  bool stopping_ = false;
};

}  // namespace troupe::link
