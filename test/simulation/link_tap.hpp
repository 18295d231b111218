#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "messaging/link/frame.hpp"
#include "test/simulation/trace.hpp"

namespace troupe::sim {

/// Listens to one direction of a link's connection, for the trace: which messages between actors its bytes carry, when
/// each was sent, and whether the other side has read it. Changes nothing. For one thread.
class LinkTap {
 public:
  struct Message {
    uint64_t number;   ///< the same for sending and arrival
    std::string name;  ///< of its payload
    uint64_t end;      ///< the byte of the stream behind it
  };
  /// Called with kSend, kDeliver or kDrop for each message.
  using Note = std::function<void(TraceEvent::Kind, const Message&)>;

  /// `byOpener`: the direction begins with the magic of a link. `lastNumber` is shared with the other taps, and
  /// outlives it.
  LinkTap(bool byOpener, std::string from, std::string to, uint64_t& lastNumber, Note note);

  /// `from` has written these bytes.
  void sent(std::string_view bytes);
  /// `to` has read that many.
  void read(size_t bytes);
  /// The connection has ended: what was not read is lost.
  void ended();

 private:
  void takeFrames(std::string_view bytes, uint64_t end);

  const std::string from_, to_;
  uint64_t& lastNumber_;
  const Note note_;
  size_t magicLeft_;
  std::string begun_;  ///< a frame or record that is not whole yet
  uint64_t sent_ = 0, read_ = 0;
  link::FrameReader reader_;
  std::deque<Message> underWay_;
};

}  // namespace troupe::sim
