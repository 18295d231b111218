#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/transport/link_end.hpp"
#include "actors/transport/links.hpp"
#include "messaging/link/handshake.hpp"

namespace troupe::link {

/// Told to the LinkManager by an accepted link that is open now (local payload).
struct LinkAccepted {
  std::string peer;
  Address link;
};

/// A link that another node has opened to this one: delivers what its actors tell and ask, answers over the same
/// connection, and watches actors here in the name of those there. It ends with its connection.
class IncomingLink final : public LinkEnd {
 public:
  IncomingLink(std::shared_ptr<Links> links, IncomingConnection connection);
  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void take(const Frame& frame) override;
  void heard() override { heardAt_ = environment().now(); }
  void streamLost(std::string why, std::optional<Rejected> rejected) override;

  void takeHandshake(const Frame& frame);
  void established(const Established& agreed, const std::string& last);
  void takeMessage(const Frame& frame);
  void deliver(Envelope envelope);
  void addWatch(const Address& watcher, const Address& watched);
  void removeWatch(const Address& watcher, const Address& watched);
  void tellDown(const Down& down);
  void reject(Rejected rejected);
  void look();

  std::shared_ptr<Links> links_;
  IncomingConnection connection_;
  std::optional<AcceptorHandshake> handshake_;
  std::string peer_;
  bool authenticated_ = false;
  std::shared_ptr<const AskOrigin> origin_;  ///< of the asks that come over it
  TimePoint startedAt_, heardAt_;
  std::map<std::string, std::vector<Address>> watchers_;  ///< watched path of this node -> watchers on the peer
};

}  // namespace troupe::link
