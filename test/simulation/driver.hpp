#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/kernel/node.hpp"
#include "messaging/wire/frame_reader.hpp"
#include "test/checkers/history.hpp"
#include "test/simulation/streams.hpp"

namespace troupe::sim {

/// Broken by an answer that is not `isExplained`.
inline constexpr const char* kAnswersExplained = "an answer that no fault explains";

/// What became of a command, as the application of a driver sees it.
struct DriverReply {
  checkers::Outcome outcome = checkers::Outcome::kUnknown;
  bson::Document body;  ///< the reply, if there was one
  Status status;        ///< why it is not OK
  /// Whether a server that keeps its promises may give this answer to a well-formed command, with whatever has failed
  /// around it.
  bool isExplained = true;
  /// There was no answer, or one by which a driver selects a server anew: it may be answered otherwise when it is sent
  /// again.
  bool mayPass = false;
  /// The server's disk is full: another one may know better, too, but a driver does not ask it.
  bool hasNoRoom() const { return status == ErrorCode::kOutOfDiskSpace; }
  /// Replies to earlier attempts that were carried out, and may be rolled back: their write concern failed.
  std::vector<bson::Document> earlier;
  /// Of an earlier attempt nobody knows whether it was carried out, nor what the reply was.
  bool followsUnanswered = false;
  uint64_t connection = 0;  ///< of the driver's connections, on which the reply came; 0: none did
};

/// A driver's session on a machine of the simulation: one connection that speaks the wire protocol, opened to a server
/// that is primary, and opened anew when it breaks. One command at a time. For the machine's tasks.
class Driver {
 public:
  /// Whether a command whose connection broke, or whose server changed its role, is sent again: a read once, a write
  /// with the number of its session some times, to the same or another server, of which one carries it out.
  /// A numbered write that is given up goes once.
  enum class Retry { kNever, kOnce, kNumbered, kNumberedOnce };
  static constexpr int kMostRetries = 4;

  /// Which servers are selected: the primary, or any that serves reads.
  enum class Preference { kPrimary, kNearest };
  /// Hears of each reply.
  using Listener = std::function<void(const DriverReply& reply)>;

  /// All that is referred to outlives it, and its tasks.
  Driver(Node& machine, Streams& streams, std::vector<std::string> servers, Listener listener,
         Preference preference = Preference::kPrimary)
      : machine_(machine),
        streams_(streams),
        servers_(std::move(servers)),
        listener_(std::move(listener)),
        preference_(preference) {}

  Task<DriverReply> run(std::string database, bson::Document command, Retry retry);
  /// Sends the last numbered command again, under its number, as if its answer had been lost.
  Task<DriverReply> repeat(std::string database);
  /// The server that was selected last.
  const std::string& server() const { return server_; }
  Future<Done> pause(Duration time) { return machine_.sleepFor(time); }
  TimePoint now() const { return machine_.environment().now(); }

 private:
  Task<DriverReply> attempt(std::string database, bson::Document command, int mostRetries);
  /// Selects a server: greets them in turn until one says that it is what is wanted, for at most 30 s.
  Task<Status> select();
  bool isWanted(bson::View hello) const;
  /// Sends a command and reads its reply. HostUnreachable when the connection breaks.
  Task<StatusWith<bson::Document>> exchange(std::string database, bson::Document command);
  void drop() { transport_.reset(); }
  bson::Document numbered(const bson::Document& command);

  Node& machine_;
  Streams& streams_;
  const std::vector<std::string> servers_;
  const Listener listener_;
  const Preference preference_;
  std::string server_;
  std::shared_ptr<transport::Transport> transport_;
  std::shared_ptr<wire::FrameReader> reader_;
  int32_t lastRequest_ = 0;
  uint64_t connections_ = 0;  ///< to servers that were what is wanted
  bson::Document session_;    ///< {id: UUID}; made with the first numbered command
  int64_t lastNumber_ = 0;
  bson::Document lastNumbered_;  ///< command
};

}  // namespace troupe::sim
