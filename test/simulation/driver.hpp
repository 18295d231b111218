#pragma once
#include <memory>
#include <string>
#include <vector>

#include "actors/kernel/node.hpp"
#include "messaging/wire/frame_reader.hpp"
#include "test/checkers/history.hpp"
#include "test/simulation/streams.hpp"

namespace troupe::sim {

/// What became of a command, as the application of a driver sees it.
struct DriverReply {
  checkers::Outcome outcome = checkers::Outcome::kUnknown;
  bson::Document body;  ///< the reply, if there was one
  Status status;        ///< why it is not OK
};

/// A driver's session on a machine of the simulation: one connection that speaks the wire protocol, opened to a server
/// that is primary, and opened anew when it breaks. One command at a time. For the machine's tasks.
class Driver {
 public:
  /// Whether a command whose connection broke is sent again, once (retryable reads). Writes are not: a node that stands
  /// alone keeps no record of what a session has had done.
  enum class Retry { kNever, kOnce };

  /// All that is referred to outlives it, and its tasks.
  Driver(Node& machine, Streams& streams, std::vector<std::string> servers)
      : machine_(machine), streams_(streams), servers_(std::move(servers)) {}

  Task<DriverReply> run(std::string database, bson::Document command, Retry retry);
  TimePoint now() const { return machine_.environment().now(); }

 private:
  /// Selects a server: greets them in turn until one says that it takes writes, for at most 30 s.
  Task<Status> select();
  /// Sends a command and reads its reply. HostUnreachable when the connection breaks.
  Task<StatusWith<bson::Document>> exchange(std::string database, bson::Document command);
  void drop() { transport_.reset(); }

  Node& machine_;
  Streams& streams_;
  const std::vector<std::string> servers_;
  std::shared_ptr<front::Transport> transport_;
  std::shared_ptr<wire::FrameReader> reader_;
  int32_t lastRequest_ = 0;
};

}  // namespace troupe::sim
