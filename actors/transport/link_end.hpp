#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/kernel/actor.hpp"
#include "actors/transport/links.hpp"
#include "actors/transport/transport.hpp"
#include "messaging/link/frame.hpp"

namespace troupe::link {

/// Common part of both link ends: a connection whose frames are read and handed over one by one, and an
/// outbox that is written to it. A connection that has been closed is forgotten at once; what it may still say is not
/// heard.
class LinkEnd : public Actor {
 protected:
  explicit LinkEnd(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}
  ~LinkEnd() override { closeStream(); }

  /// Reads from this connection, and writes the outbox to it, until it is closed. `first`: bytes that were read
  /// already.
  void openStream(std::shared_ptr<transport::Transport> transport, bool expectMagic, std::string_view first);
  void closeStream();
  /// Writes a last frame, as far as the connection takes it at once, and closes it.
  void closeStream(std::string_view last);
  bool hasStream() const { return stream_ != nullptr; }
  /// Frames up to this size are taken from now on.
  void setLargestFrame(size_t bytes) { stream_->reader->setLimit(bytes); }
  /// From the next byte on requires proofs with this key; an empty key changes nothing.
  void expectProofs(const std::string& key) {
    if (!key.empty()) stream_->reader->expectProofs(key);
  }
  /// Whether the peer has taken bytes since the last call, while nothing is read because too many wait to be written.
  /// That is all that is heard of it then.
  bool isTakingBytes();
  bool isEncrypted() const { return stream_ && stream_->transport->encrypted(); }

  /// A frame has come.
  virtual void take(const Frame& frame) = 0;
  /// Bytes have come.
  virtual void heard() = 0;
  /// The connection has ended, or has to end because its bytes were `rejected`.
  virtual void streamLost(std::string why, std::optional<Rejected> rejected) = 0;

  Outbox& outbox() const { return *outbox_; }
  LinkCounters& counters() const { return *outbox_->counters(); }
  const std::shared_ptr<Outbox>& sharedOutbox() const { return outbox_; }
  /// From now on this one is written; the other is refused. Between two frames only.
  void changeOutbox(std::shared_ptr<Outbox> outbox);
  /// The message in that frame of the peer, whose cluster time has been taken over. Errors: ProtocolError.
  StatusWith<Envelope> readFromPeer(const Frame& frame, const Links& links, bool authenticated);
  void setError(std::string error);

 private:
  struct Stream {
    std::shared_ptr<transport::Transport> transport;
    std::shared_ptr<FrameReader> reader;  ///< the transport's while it reads
    size_t begun = 0;                     ///< bytes of an incomplete frame when it last began to read
    bool writing = false;                 ///< the transport has the rest of a block
    bool heldBack = false;                ///< it does not read until less waits to be written
    int64_t taken = 0;                    ///< by the peer, when that was looked at last
  };
  Task<void> readFrames(std::shared_ptr<Stream> stream);
  Task<void> writeBlocks(std::shared_ptr<Stream> stream);
  /// Hands over all whole frames; false if the stream has gone.
  bool takeFrames(const std::shared_ptr<Stream>& stream);
  void ended(const std::shared_ptr<Stream>& stream, const Status& why);

  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace troupe::link
