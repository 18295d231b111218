#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::storage {
class OperationContext;
}

namespace troupe::transport {

/// The identity whose rights a command has on another node.
struct ActAs {
  enum class Who { kCluster, kUser, kNobody } who = Who::kCluster;
  std::string user = {}, database = {};  ///< of kUser

  static ActAs cluster() { return {}; }
  static ActAs nobody() { return {Who::kNobody}; }
  static ActAs theUser(std::string user, std::string database) {
    return {Who::kUser, std::move(user), std::move(database)};
  }
};

struct CommandOptions {
  ActAs as = {};
  /// The command's deadline, there as well as here.
  Duration timeout = kNoTimeout;
  /// The operation that the command is part of, whose coroutine awaits it: a kill, its deadline and its client's end
  /// cut the wait short, with the operation's failure, and kill the command there. Null: nothing does. Outlives it.
  storage::OperationContext* operation = nullptr;
};

/// Answer of a command on another node: its reply, and the bytes it gave besides. Borrows from the message,
/// which it keeps.
class CommandReply {
 public:
  /// Errors: ProtocolError (the document is not as long as announced), those of bson::validate.
  static StatusWith<CommandReply> of(std::shared_ptr<const std::string> message, size_t documentBytes);
  bson::View document() const { return bson::View(message_->data() + bytes_); }
  std::string_view bytes() const { return std::string_view(*message_).substr(0, bytes_); }

 private:
  CommandReply(std::shared_ptr<const std::string> message, size_t bytes)
      : message_(std::move(message)), bytes_(bytes) {}
  std::shared_ptr<const std::string> message_;
  size_t bytes_;  ///< before the document
};

/// Runs a command on that node (this one, too; or `primaryOf` a set) as if a client had sent it there. A command that
/// fails is a failure with its code, as are Unauthorized (there is no such user; the node does not take this one for a
/// member), HostUnreachable and, when the deadline passes, MaxTimeMSExpired. Dropping the task before it ends kills
/// the command.
Task<StatusWith<CommandReply>> runCommand(Node& node, std::string target, std::string database, bson::Document command,
                                          CommandOptions options);
/// As the cluster itself, without a deadline. (No default argument: g++ 12 destroys one twice within a co_await.)
inline Task<StatusWith<CommandReply>> runCommand(Node& node, std::string target, std::string database,
                                                 bson::Document command) {
  CommandOptions options;
  return runCommand(node, std::move(target), std::move(database), std::move(command), std::move(options));
}

struct CursorOptions {
  CommandOptions command = {};
  size_t credit = 1024 * 1024;     ///< bytes that may be on the way or wait here, unread; more only for one document
  size_t batchBytes = 256 * 1024;  ///< of one batch, about
};

/// The results of a find or an aggregation that runs on another node. The node sends batches as they are ready, as far
/// as this reader's credit goes; what is read is granted anew. To be used by one task at a time; destroying it closes
/// the cursor there.
class RemoteCursor {
 public:
  /// Runs the command there. Errors: those of runCommand; CursorKilled (there is more, but nothing there to give it).
  static Task<StatusWith<std::unique_ptr<RemoteCursor>>> open(Node& node, std::string target, std::string database,
                                                              bson::Document command, CursorOptions options);
  using Opened = StatusWith<std::unique_ptr<RemoteCursor>>;
  /// The same, sent before it is awaited: cursors of several nodes may be opened at the same time. Called on the pool,
  /// where it goes on; a cursor that opens when nobody waits for it any more is closed. Part of no operation, which
  /// could await one of them only.
  static Future<Opened> begin(Node& node, std::string target, std::string database, bson::Document command,
                              CursorOptions options);
  /// As the cluster itself, with the usual credit.
  static Task<StatusWith<std::unique_ptr<RemoteCursor>>> open(Node& node, std::string target, std::string database,
                                                              bson::Document command) {
    CursorOptions options;
    return open(node, std::move(target), std::move(database), std::move(command), std::move(options));
  }
  ~RemoteCursor();
  RemoteCursor(const RemoteCursor&) = delete;

  /// The next documents, valid until the next call; none: the end. A tailing find has no end: none means that nothing
  /// has come for as long as its getMore waits there (a second), or to begin with; if its cursor is closed there, that
  /// is CursorNotFound. Errors: those of getMore; HostUnreachable when the node or the link is lost; after any of them
  /// the cursor has ended.
  Task<StatusWith<std::vector<bson::View>>> next();
  /// Of the present batch, of a find that has asked for it; empty: there is none. Until the next call of `next`.
  bson::View resumeToken() const;

 private:
  RemoteCursor(Node& node, std::string target, uint64_t id, CursorOptions options)
      : node_(node), target_(std::move(target)), id_(id), options_(std::move(options)) {}
  /// Grants as many batches as the credit allows.
  void grant();
  /// Parses the documents of the present batch.
  StatusWith<std::vector<bson::View>> documents();

  Node& node_;
  const std::string target_;
  const uint64_t id_;
  const CursorOptions options_;
  Address sender_;  ///< empty: the present batch is the last
  std::optional<CommandReply> present_;
  bool isFirst_ = true;
  bool tails_ = false;  ///< a find that waits for more at the end of its collection
  bool failed_ = false;
  std::deque<Future<Answer>> granted_;
};

}  // namespace troupe::transport
