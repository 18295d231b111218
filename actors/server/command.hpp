#pragma once
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "actors/kernel/task.hpp"
#include "actors/server/arguments.hpp"
#include "actors/server/request.hpp"
#include "messaging/auth/roles.hpp"

namespace troupe::server {

enum class Access { kNone, kRead, kWrite, kAdmin };

/// The privilege a command requires: an action on the collection it names, on its database, or on the cluster.
/// Commands whose rights depend on their arguments check further in their body: namespaces by NamespaceResolution, all
/// else with Request::authorize.
struct Requirement {
  enum class Target { kNobody, kAuthenticated, kArguments, kCollection, kDatabase, kCluster };
  /// kNobody: allowed before authentication; kArguments: the body checks what its arguments name.
  Target target = Target::kNobody;
  auth::Action action{};
};

/// The levels of read concern that a command takes. Beside `local`, which every command takes.
enum class ReadConcerns { kLocal, kAllButSnapshot, kAll };

/// One command of the server: name, arguments, rights and body; everything about it in one place. A body runs on the
/// pool and must not block; it answers through `request.reply()`, or returns a failure, which becomes the error reply.
struct Command {
  std::string_view name;
  std::string_view alias = {};
  std::string_view summary;  ///< one line for listCommands and docs/commands.md
  Requirement requirement;
  Access access = Access::kNone;
  bool adminOnly = false;        ///< only on the `admin` database
  bool testOnly = false;         ///< needs enableTestCommands
  bool stableApi = false;        ///< part of API version 1
  bool namesCollection = false;  ///< the command's own field is a collection name
  bool takesUuid = false;        ///< or the collection's UUID; that takes the right useUUID, too
  bool allowedInTransaction = false;
  bool retryable = false;  ///< takes a transaction number outside of a transaction: a retry is executed once (SES-014)
  bool mayWrite = false;   ///< takes a write concern, as all commands whose access is kWrite do
  ReadConcerns readConcerns = ReadConcerns::kLocal;
  ArgumentTable arguments;
  Task<Status> (*run)(Request& request);
};

/// All commands, found by name. Built once at start-up from the tables of the families; immutable afterwards.
class CommandTable {
 public:
  explicit CommandTable(std::initializer_list<std::span<const Command>> families);
  const Command* find(std::string_view name) const;
  const std::vector<const Command*>& all() const { return sorted_; }

 private:
  std::vector<const Command*> sorted_;
  std::unordered_map<std::string_view, const Command*> byName_;  ///< aliases too
};

/// Runs one request from parsing to the finished reply in `request.reply()`: finds the command in the node's table,
/// checks name, database, rights, arguments, API version, session and fail points, runs the body, and writes `ok` or
/// the error. Never fails.
Task<void> dispatch(Request& request);

/// Writes {ok: 0, errmsg, code, codeName, ...} in place of what the reply holds.
void writeError(wire::MessageBuilder& reply, const Status& status);

}  // namespace troupe::server
