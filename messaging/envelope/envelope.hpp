#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "messaging/bson/document.hpp"
#include "messaging/clock/time_point.hpp"
#include "messaging/envelope/address.hpp"
#include "messaging/envelope/payload.hpp"
#include "messaging/errors/status.hpp"

namespace troupe {

enum class Priority : uint8_t { kNormal, kHigh };

enum class MessageKind : uint8_t { kTell, kAsk, kReply, kFailure, kWatch, kUnwatch, kDown };

/// How an ask of another node came to this one.
struct AskOrigin {
  Address link;                ///< the actor here that takes the answer back; when it ends, nobody waits any more
  bool authenticated = false;  ///< the node at its other end has proven that it knows the cluster's key
};

/// Receives the one answer of an ask. Completed exactly once, from any thread.
class ReplySink {
 public:
  /// Null for an ask of this node.
  virtual const AskOrigin* origin() const noexcept { return nullptr; }
  virtual void complete(StatusWith<Payload> answer) noexcept = 0;

 protected:
  ~ReplySink() = default;
};

/// Reply handle of an ask. Move-only: destroying it unanswered sends an error to the asker, so that no asker
/// waits for a message that died in a mailbox.
class ReplyDuty {
 public:
  ReplyDuty() = default;
  explicit ReplyDuty(ReplySink* sink) : sink_(sink) {}  ///< the sink keeps itself alive until completed
  ReplyDuty(ReplyDuty&& other) noexcept : sink_(std::exchange(other.sink_, nullptr)) {}
  ReplyDuty& operator=(ReplyDuty&& other) noexcept {
    std::swap(sink_, other.sink_);
    return *this;
  }
  ~ReplyDuty() {
    if (sink_) abandon();
  }

  explicit operator bool() const { return sink_ != nullptr; }
  /// Null for an ask of this node; valid until it is answered.
  const AskOrigin* origin() const { return sink_ ? sink_->origin() : nullptr; }
  void complete(StatusWith<Payload> answer) noexcept {
    if (auto* s = std::exchange(sink_, nullptr)) s->complete(std::move(answer));
  }

 private:
  void abandon() noexcept;
  ReplySink* sink_ = nullptr;
};

/// Cluster metadata of a message; absent on a single node.
struct ClusterMetadata {
  ClusterMetadata();
  bson::Document vectorTime;
  bson::Document replMetadata;
};

/// Milliseconds, as in `Envelope::enqueuedAtMs`; they wrap after seven weeks.
inline uint32_t ageStamp(TimePoint time) {
  return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

/// A message on its way, as it is within one process: small, movable, its payload shared. It becomes a Cap'n Proto
/// `Envelope` only when it leaves the node (envelope_codec.hpp). One owner at a time; may be moved between threads.
struct Envelope {
  Address to;
  Address from;              ///< nobody for a sender that is no actor
  uint64_t correlation = 0;  ///< of an ask or its answer on a link; local asks carry `reply` instead
  uint64_t trace = 0;
  TimePoint deadline = kNoDeadline;
  MessageKind kind = MessageKind::kTell;
  Priority priority = Priority::kNormal;
  uint32_t enqueuedAtMs = 0;  ///< coarse age stamp set by the post office
  Payload payload;
  ReplyDuty reply;  ///< set for an ask
  Status failure;   ///< of kFailure and kDown
  std::unique_ptr<ClusterMetadata> metadata;
  bson::Timestamp clusterTime;  ///< set by links: the newest that the sender's node knew; zero: none
};

}  // namespace troupe
