#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/commands/listed_rows.hpp"
#include "actors/kernel/future.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/run_command.hpp"

namespace troupe::commands {
using namespace server;

/// How long a member may take for its answer to a question that all members are asked.
inline constexpr auto kMemberPatience = std::chrono::seconds(2);

/// This node's name in the config of its set; its own where it stands alone.
std::string ownName(const ServerContext& server);
/// The members of this node's set but itself, arbiters included, in the order of the config. None where it stands
/// alone or has no config.
std::vector<std::string> otherMembers(const ServerContext& server);

/// One question that several members are asked at the same time: a command of the cluster itself whose answer is a
/// cursor. The caller has checked the rights of its user. Made on the pool; used by one task at a time.
class MemberQuestion {
 public:
  MemberQuestion(Node& node, const std::vector<std::string>& members, const std::string& database,
                 const bson::Document& command, Duration patience);

  size_t size() const { return asked_.size(); }
  const std::string& member(size_t i) const { return asked_[i].member; }
  /// The next documents of a member, valid until the next call for it; none: the end. After an error it is not called
  /// again for that member. Errors: the command's; HostUnreachable; MaxTimeMSExpired (it does not answer in time).
  Task<StatusWith<std::vector<bson::View>>> next(size_t i);

 private:
  struct Asked {
    std::string member;
    Future<transport::RemoteCursor::Opened> opening;
    std::unique_ptr<transport::RemoteCursor> cursor = nullptr;
  };
  Node& node_;
  const TimePoint end_;  ///< by which everything has been read
  std::deque<Asked> asked_;
};

/// The row with `node`, the name of the member that it is of.
bson::Document rowOfMember(bson::View row, std::string_view node);
/// Adds the rows that the command, which answers with a cursor, gives on every other member of the set, each with
/// `node`. A member that cannot be asked in time, or refuses, has one row: {node, path: "/node", unreachable: why};
/// gives how many these are. Errors: ExceededMemoryLimit; the request has to end.
Task<StatusWith<size_t>> addRowsOfOthers(Request& request, bson::Document command, ListedRows& rows);

/// The user of the request as other nodes know it: of several the first whose privileges hold the action on the cluster
/// that the command needs. The cluster itself where nobody has to log in.
transport::ActAs identityOf(const Request& request);
/// The member that the argument `node` names; nothing: it is this node, or is not given. Errors: BadValue (the set has
/// no such member).
StatusWith<std::optional<std::string>> otherMemberOf(const Request& request);
/// Runs a command of the database `admin` on another member with the rights that the request's user (`identityOf`) has
/// there, and takes over its reply. Errors: the command's; HostUnreachable; MaxTimeMSExpired.
Task<Status> runOnMember(Request& request, std::string member, bson::Document command);

}  // namespace troupe::commands
