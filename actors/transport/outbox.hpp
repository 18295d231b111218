#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/post_office.hpp"
#include "actors/server/cluster_clock.hpp"
#include "actors/transport/counters.hpp"
#include "messaging/link/frame.hpp"
#include "messaging/link/lanes.hpp"
#include "messaging/link/message_frame.hpp"
#include "messaging/link/pending_asks.hpp"

namespace troupe::link {

/// The outgoing queue of one link end, and the asks that await a reply from the peer. Senders put messages
/// in from any thread, encoded at once into the bytes to be written, so that the link's actor writes many with one
/// call; only the link's actor takes out. Small messages overtake large ones (Lanes). It never holds more than its
/// limits: what is beyond is given back, an ask with a failure, a watch with a `Down`, anything else counted as
/// dropped.
class Outbox final : public Route {
 public:
  struct Limits {
    size_t bytes = 64 * 1024 * 1024;  ///< encoded or held, and of bulk beside the other lanes as much again; answers
                                      ///< may go beyond, and then nothing more is read
    size_t messages = 100'000;
    size_t asks = 100'000;  ///< without an answer yet, in either direction
  };

  Outbox(PostOffice& office, Environment& environment, std::string peer, Limits limits,
         std::shared_ptr<LinkCounters> counters = std::make_shared<LinkCounters>(),
         std::shared_ptr<const server::ClusterClock> clock = nullptr);
  ~Outbox() override;

  // --- Any thread
  /// A message of this node for the other one.
  void send(Envelope envelope) noexcept override;
  /// The answer to an ask of the other node.
  void answer(uint64_t correlation, StatusWith<Payload> answer) noexcept;
  /// Tells a watcher there that an actor here has ended.
  void down(const Address& watcher, const Address& watched, const Status& reason) noexcept;

  const std::string& peer() const { return peer_; }
  const std::shared_ptr<LinkCounters>& counters() const { return counters_; }
  struct Lengths {
    size_t messages = 0, bytes = 0, asks = 0;
  };
  Lengths lengths() const;

  // --- The link's actor
  /// Messages are kept until the link is open.
  void hold();
  /// Settings agreed on for a connection.
  struct Terms {
    size_t largestFrame = kLargestFrame;  ///< bytes that the peer accepts
    bool checksummed = true;              ///< neither TLS nor proofs protect the frames
    std::string key = {};                 ///< all is sent in records proven with it; empty: no proofs
  };
  /// Lets messages flow on a connection with these terms, held ones first.
  void open(const Terms& terms);
  /// Fails queued messages, outstanding asks and every later message with `why`: the link is gone.
  void refuse(const Status& why);
  /// A frame of the link's own: handshake, heartbeats. It is not held up.
  void write(std::string_view frame);
  /// The bytes of a connection's last frame, with proof where there are proofs, to be written behind the blocks taken.
  std::string sealed(std::string_view frame);
  /// Gives the peer's answer to its ask; false when that ask is over.
  bool complete(Envelope answer);
  /// Lets go of asks whose deadline has passed.
  void forgetExpired();
  /// An ask of the other node is being served, until `answer`; false if these are more than there may be.
  bool serve();

  /// Something is there to be written, or the link was refused.
  Future<Done> filled();
  /// The bytes to be written are few enough to go on reading.
  Future<Done> drained();
  bool isOverfull() const;
  std::optional<ByteQueue::Block> take();
  /// A block is written, and may be used again unless it was moved from.
  void written(ByteQueue::Block block, size_t bytes);

 private:
  enum class State { kHolding, kOpen, kRefusing };
  /// Why an envelope was not taken.
  struct Refusal {
    Status why;
    DeadLetter counted = DeadLetter::kNotConnected;
  };
  using Waiter = std::optional<Promise<Done>>;

  std::optional<Refusal> put(Envelope& envelope);
  std::optional<Refusal> encode(Envelope& envelope);
  Lane laneOf(const Envelope& envelope) const;
  /// False if it is larger than the link carries.
  bool append(Envelope& envelope, Lane lane);
  bool appendAnswer(Envelope& envelope);
  void giveBack(Envelope envelope, const Refusal& refusal) noexcept;
  size_t queuedBytes() const { return queue_.bytes() + heldBytes_ + writingBytes_; }
  Waiter takeWaiter(Waiter& waiter) { return std::exchange(waiter, std::nullopt); }

  PostOffice& office_;
  Environment& environment_;
  const std::string self_, peer_;
  const Limits limits_;
  const std::shared_ptr<LinkCounters> counters_;
  const std::shared_ptr<const server::ClusterClock> clock_;  ///< null: messages carry no cluster time

  std::optional<RecordProof> proof_;  ///< the link's actor's

  mutable std::mutex mutex_;  // guards all below
  State state_ = State::kHolding;
  Status why_;  ///< of refusing
  Terms terms_;
  Lanes queue_;
  std::deque<Envelope> held_;
  size_t heldBytes_ = 0;
  size_t writingBytes_ = 0, writingFrames_ = 0;
  PendingAsks pending_;
  size_t serving_ = 0;
  Waiter writer_, reader_;
};

}  // namespace troupe::link
