#pragma once
#include <optional>

#include "actors/transport/link_end.hpp"
#include "actors/transport/links.hpp"
#include "messaging/link/handshake.hpp"
#include "messaging/link/link_life.hpp"

namespace troupe::link {

/// The other node has been heard of: a pause before the next try may end (local payload).
struct PeerLives {};

/// The link that this node opens to one other: carries what actors here tell, ask and watch there, and brings the
/// answers back. It decides as `LinkLife` does; whenever the connection is lost, all it carried fails, those who watch
/// actors there are told, and it tries again after a pause.
class OutgoingLink final : public LinkEnd {
 public:
  OutgoingLink(std::shared_ptr<Links> links, std::shared_ptr<Outbox> outbox);
  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void take(const Frame& frame) override;
  void heard() override;
  void streamLost(std::string why, std::optional<Rejected> rejected) override;

  void perform(LinkLife::Actions actions);
  void show();
  Task<void> connect(uint64_t tryNumber);
  void connected(StatusWith<std::shared_ptr<transport::Transport>> outcome);
  void takeHandshake(const Frame& frame);
  void takeAnswer(const Frame& frame);
  void takeBeat(const Frame& frame);
  void beat();
  void loseAll(const std::string& why);
  void reject(Rejected rejected);
  double chance() { return environment().randomShare(); }

  std::shared_ptr<Links> links_;
  LinkLife life_;
  std::optional<OpenerHandshake> handshake_;
  std::function<void()> abandon_;
  std::function<std::string()> progress_;  ///< of the try that may be abandoned
  uint64_t tries_ = 0;
  TimerId timer_ = 0;
  bool authenticated_ = false;
};

}  // namespace troupe::link
