#include "actors/transport/link_end.hpp"

#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/link/handshake.hpp"
#include "messaging/log/log.hpp"

namespace troupe::link {

namespace {
/// Blocks written before the reader has its turn: the other side's heartbeats are answered in between.
constexpr int kBlocksInARow = 2;
/// Of a connection in either direction: an urgent frame comes behind as much bulk, a millisecond or two on a busy
/// machine; and at a round trip of half a millisecond as much is enough for half a gigabyte a second.
constexpr size_t kBacklog = 256 * 1024;
}  // namespace

void LinkEnd::openStream(std::shared_ptr<transport::Transport> transport, bool expectMagic, std::string_view first) {
  closeStream();
  transport->limitBacklog(kBacklog);
  stream_ = std::make_shared<Stream>(Stream{std::move(transport), std::make_shared<FrameReader>(expectMagic)});
  stream_->reader->feed(first);
  const auto stream = stream_;
  start(writeBlocks(stream));
  if (stream == stream_) start(readFrames(stream));  // the first write may have found the connection gone
}

void LinkEnd::closeStream() {
  if (stream_) std::exchange(stream_, nullptr)->transport->close();
}

void LinkEnd::closeStream(std::string_view last) {
  if (stream_ && !last.empty() && !stream_->writing) {
    const auto bytes = std::make_shared<const std::string>(outbox_->sealed(last));
    const auto n = stream_->transport->writeNow(*bytes);
    if (n.isOK() && *n == 0) (void)stream_->transport->write(bytes, 0);
  }
  closeStream();
}

void LinkEnd::changeOutbox(std::shared_ptr<Outbox> outbox) {
  const auto former = std::exchange(outbox_, std::move(outbox));
  former->refuse({ErrorCode::kHostUnreachable, "another outbox is used now"});  // wakes the coroutine that writes it
}

bool LinkEnd::isTakingBytes() {
  if (!stream_ || !stream_->heldBack) return false;
  const int64_t taken = stream_->transport->bytesTaken();
  return std::exchange(stream_->taken, taken) < taken;
}

/// A time that is not believed holds nothing up: the message means what it says without it, and the clocks are for
/// operators to set.
StatusWith<Envelope> LinkEnd::readFromPeer(const Frame& frame, const Links& links, bool authenticated) {
  TROUPE_ASSIGN(auto envelope, readMessage(frame, environment().now(), {node().name(), outbox_->peer()}));
  const LinkSettings& settings = links.settings();
  if (!settings.clock || settings.clock->learn(envelope.clusterTime, authenticated)) return envelope;
  const bool isFirst = counters().timesRefused.fetch_add(1, std::memory_order_relaxed) == 0;
  if (isFirst && settings.log)
    settings.log->warning(log::Component::kNetwork, 7002005, "link",
                          "The cluster time of another node is not believed: check the clocks of all nodes",
                          bson::doc("peer", outbox_->peer(), "clusterTime", envelope.clusterTime));
  return envelope;
}

void LinkEnd::setError(std::string error) {
  counters().setLastError(error);
  cell().row()->setError(std::move(error));
}

void LinkEnd::ended(const std::shared_ptr<Stream>& stream, const Status& why) {
  if (stream != stream_) return;
  std::optional<Rejected> rejected;
  if (stream->begun > 0 || stream->reader->isWithinMessage())
    rejected = {Rejection::kTruncated, "the connection ended within a frame"};
  streamLost("the connection ended: " + why.reason(), std::move(rejected));
}

bool LinkEnd::takeFrames(const std::shared_ptr<Stream>& stream) {
  Frame frame;
  while (stream == stream_) {
    const auto outcome = stream->reader->next(frame);
    if (outcome == FrameReader::Outcome::kMore) return true;
    if (outcome == FrameReader::Outcome::kRejected) {
      const Rejected rejected = stream->reader->rejected();
      closeStream(closingFrame(rejected.toString()));
      streamLost(rejected.toString(), rejected);
      return false;
    }
    counters().framesIn.fetch_add(1, std::memory_order_relaxed);
    take(frame);
  }
  return false;
}

Task<void> LinkEnd::readFrames(std::shared_ptr<Stream> stream) {
  while (takeFrames(stream)) {
    if (outbox_->isOverfull()) {
      stream->heldBack = true;
      stream->taken = stream->transport->bytesTaken();
      co_await outbox_->drained();  // the other side asks faster than it takes the answers
      if (stream != stream_) co_return;
      stream->heldBack = false;
    }
    stream->begun = stream->reader->buffered();
    const auto n = co_await stream->transport->read(stream->reader);
    if (stream != stream_) co_return;
    if (!n.isOK()) {
      ended(stream, n.status());
      co_return;
    }
    counters().bytesIn.fetch_add(static_cast<int64_t>(*n), std::memory_order_relaxed);
    heard();
  }
}

Task<void> LinkEnd::writeBlocks(std::shared_ptr<Stream> stream) {
  int inARow = 0;
  while (stream == stream_) {
    auto block = outbox_->take();
    if (!block) {
      inARow = 0;
      co_await outbox_->filled();
      continue;
    }
    const size_t size = block->bytes.size();
    const auto n = stream->transport->writeNow(block->bytes);
    Status status = n.status();
    if (status.isOK() && *n < size) {
      auto rest = std::make_shared<const std::string>(std::move(block->bytes));
      stream->writing = true;
      status = co_await stream->transport->write(rest, *n);
      stream->writing = false;
    }
    if (stream != stream_) co_return;
    if (!status.isOK()) {
      ended(stream, status);
      co_return;
    }
    outbox_->written(std::move(*block), size);
    if (++inARow < kBlocksInARow) continue;
    inARow = 0;
    co_await node().nextTurn();  // lets the other coroutine and the mailbox run
  }
}

}  // namespace troupe::link
