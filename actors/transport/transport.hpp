#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "actors/kernel/future.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/read_buffer.hpp"

namespace boost::asio::ssl {
class context;
}

namespace troupe::transport {

/// The bytes of one connection, plain or under TLS. Used by its connection actor alone; completions come from the pool
/// and continue the actor.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Reads what comes next, at least a byte, into the reader's room; gives how much it was. The reader is the
  /// transport's until then: it stays alive even if its connection ends meanwhile. Errors: HostUnreachable when the
  /// peer has closed.
  virtual Future<StatusWith<size_t>> read(std::shared_ptr<wire::ReadBuffer> into) = 0;
  /// Writes without waiting as far as the socket takes it. Errors: HostUnreachable.
  virtual StatusWith<size_t> writeNow(std::string_view bytes) = 0;
  /// Writes `bytes` from offset `from`, where `writeNow` stopped.
  virtual Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) = 0;
  /// Bytes that the peer's machine has taken of what was written, about: tells whether a write that waits goes on.
  virtual int64_t bytesTaken() const { return 0; }
  virtual bool encrypted() const { return false; }
  /// Bounds what the network may hold back unread, about: what is sent next is then not far behind. Before the first
  /// read.
  virtual void limitBacklog(size_t bytes) { (void)bytes; }
  /// Whether the peer has closed its side. What it sent before may still be unread.
  virtual bool isPeerGone() const { return false; }
  /// Ends both directions; waiting calls complete with HostUnreachable. Any thread.
  virtual void close() = 0;
};

}  // namespace troupe::transport
