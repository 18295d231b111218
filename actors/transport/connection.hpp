#pragma once
#include <memory>
#include <optional>
#include <string>

#include "actors/kernel/actor.hpp"
#include "actors/server/client.hpp"
#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/transport.hpp"
#include "messaging/wire/frame_reader.hpp"

namespace troupe::transport {

/// One driver's connection as an actor: it reads frames, runs each request's command to its end and writes the answer,
/// one request at a time as the protocol has it. A connection that begins as a link of another node is handed over to
/// the node's links. The whole life is one coroutine; it ends when the peer closes, a frame
/// breaks the protocol, or a supervisor or operator stops it.
class Connection final : public Actor {
 public:
  Connection(std::shared_ptr<Transport> transport, std::shared_ptr<server::Client> client,
             server::ServerContext& server, server::ConnectionGate::Place place = {});
  ~Connection() override;

  Behaviour behaviour() override { return {}; }
  void onStart() override;
  /// Idle: ends at once. Busy: ends when the running request is answered, or when its client does not read the answer.
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  Task<void> serve();
  /// Answers one frame. False when the connection has to close.
  Task<bool> answer(std::string_view frame);
  /// Runs the request; when its command streams (an awaitable hello) again and again, until it ends or the client is
  /// gone.
  Task<bool> runRequest(wire::Request wire);
  Task<bool> send(std::string bytes);
  /// Counts an answer of so many bytes until `releaseAnswer`. Errors: ExceededMemoryLimit.
  Status holdAnswer(size_t bytes);
  /// The same for one that may do without: a batch ends then.
  bool reserveAnswer(size_t bytes);
  void releaseAnswer();
  /// Closes the connection of a client that does not read its answer.
  void lookAtSending();
  /// Whether the first bytes are those of another node that opens a link.
  bool isLink() const;
  /// Gives the connection to the node's links; this actor ends.
  void handOver();
  /// Sets the limits of the next message by what is known of the client, before its bytes are read.
  /// ExceededMemoryLimit: there is no memory for more of it.
  Status prepareToRead();
  /// The client owes its first message, or the rest of one that has begun: until when.
  void awaitMore(bool trusted);
  /// Who shares the memory of incomplete messages with others: a user, or an address without one.
  server::MessageOwner ownerOfMemory() const;
  /// Bytes of a message the client may send now, also when it is unpacked.
  int32_t largestMessage() const;
  void logClosing(const Status& why);
  /// From now on the running request ends with its client, for which a timer looks that often.
  void watchPeer(Duration period);
  /// Ends the running request when it is watched and its client has gone.
  void lookAtPeer();
  bool refuse(std::string_view frame, const Status& why, std::string& reply);

  std::shared_ptr<Transport> transport_;
  std::shared_ptr<server::Client> client_;
  server::ServerContext& server_;
  server::ConnectionGate::Place place_;
  server::MessageMemory::Share memory_;  ///< of an incomplete message, and of an answer that is not read
  const std::shared_ptr<wire::FrameReader> reader_ = std::make_shared<wire::FrameReader>();
  int32_t nextReply_ = 1;
  int64_t requests_ = 0;
  int64_t answer_ = 0;  ///< bytes of `memory_` for the answer that is made or sent
  bool busy_ = false;
  int64_t arrived_ = 0;  ///< bytes of messages since `awaitedUntil` was set
  /// An answer that its client does not take at once.
  struct Sending {
    TimePoint since;  ///< beginning of the time in which it has to go on
    int64_t taken;    ///< by the client, until then
  };
  std::optional<Sending> sending_;
  std::optional<TimerId> sendWatch_;
  struct PeerWatch {
    Duration period;
    TimerId timer;
  };
  std::optional<PeerWatch> peerWatch_;
  bool isWatched_ = false;  ///< the running request ends with its client
};

}  // namespace troupe::transport
