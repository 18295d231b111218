// buildInfo, hostInfo, connectionStatus, listCommands, getLog, whatsmyuri, features of the server.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "actors/commands/families.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/version.hpp"

namespace troupe::commands {
using namespace server;

namespace {

Task<Status> buildInfo(Request& request) {
  bson::Builder& reply = request.reply();
  reply.append("version", kServerVersion).append("gitVersion", "").openArray("modules").close();
  reply.append("troupeVersion", kTroupeVersion);
  reply.append("allocator", "jemalloc").append("javascriptEngine", "none").append("sysInfo", "deprecated");
  reply.append("versionArray",
               std::vector<int32_t>{kServerVersionParts[0], kServerVersionParts[1], kServerVersionParts[2], 0});
  reply.append("openssl", bson::doc("running", openSslVersion(), "compiled", openSslVersion()));
  reply.append("bits", 64).append("debug", false).append("maxBsonObjectSize", bson::kMaxDocumentSize);
  reply.append("storageEngines", std::vector<std::string>{"wiredTiger"})
      .append("storageEngineVersion", request.server().engine.version());
  co_return Status::OK();
}

Task<Status> hostInfo(Request& request) {
  struct utsname os {};
  uname(&os);
  const int64_t pageBytes = sysconf(_SC_PAGESIZE);
  const int64_t memoryMb = sysconf(_SC_PHYS_PAGES) * pageBytes / (1024 * 1024);
  const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       request.server().node.environment().wallNow().time_since_epoch())
                       .count();
  bson::Builder& reply = request.reply();
  reply.openDocument("system")
      .append("currentTime", bson::Date{now})
      .append("hostname", os.nodename)
      .append("cpuAddrSize", 64);
  reply.append("memSizeMB", memoryMb)
      .append("memLimitMB", memoryMb)
      .append("numCores", cores)
      .append("cpuArch", os.machine)
      .append("numaEnabled", false)
      .close();
  reply.openDocument("os").append("type", os.sysname).append("name", os.version).append("version", os.release).close();
  reply.openDocument("extra").append("kernelVersion", os.release).append("pageSize", pageBytes).close();
  co_return Status::OK();
}

/// A name of the connection that no other one has, on this node or another.
bson::Uuid connectionUuid(const Request& request) {
  bson::Uuid uuid;
  const auto& process = request.server().identity.processId.bytes;
  std::copy(process.begin(), process.end(), uuid.bytes.begin());
  const auto connection = static_cast<uint32_t>(request.client().connectionId);
  for (size_t i = 0; i < sizeof(connection); ++i)
    uuid.bytes[process.size() + i] = static_cast<uint8_t>(connection >> (8 * i));
  return uuid;
}

constexpr Argument kConnectionStatusArguments[] = {flagArg("showPrivileges")};

Task<Status> connectionStatus(Request& request) {
  bson::Builder& reply = request.reply();
  const auto& users = request.client().users;
  reply.openDocument("authInfo").openArray("authenticatedUsers");
  for (const auto& user : users) reply.push(bson::doc("user", user.name, "db", user.database));
  reply.close().openArray("authenticatedUserRoles");
  for (const auto& user : users) {
    for (const bson::Element& role : user.roles.view()) reply.push(role);
  }
  reply.close();
  if (request.flag("showPrivileges")) {
    reply.openArray("authenticatedUserPrivileges");
    for (const auto& user : users) {
      const bson::Value privileges = user.privileges.toArray();
      for (const bson::Element& privilege : privileges.element().asArray()) reply.push(privilege);
    }
    reply.close();
  }
  reply.close().append("uuid", connectionUuid(request));
  co_return Status::OK();
}

Task<Status> listCommands(Request& request) {
  bson::Builder& reply = request.reply();
  reply.openDocument("commands");
  for (const Command* command : request.server().commands.all()) {
    if (command->testOnly && !request.server().parameters.enableTestCommands) continue;
    reply.openDocument(command->name).append("help", command->summary).append("adminOnly", command->adminOnly);
    reply.append("requiresAuth", command->requirement.target != Requirement::Target::kNobody);
    reply.openArray("apiVersions");
    if (command->stableApi) reply.push("1");
    reply.close().close();
  }
  reply.close();
  co_return Status::OK();
}

Task<Status> getLog(Request& request) {
  const bson::Element name = request.body().first();
  if (name.isNullish())
    co_return Status(ErrorCode::kMissingRequiredField, "BSON field 'getLog.getLog' is missing but a required field");
  if (!name.is(bson::Type::kString))
    co_return Status(ErrorCode::kTypeMismatch, "BSON field 'getLog.getLog' is the wrong type '" +
                                                   std::string(bson::typeName(name.type())) +
                                                   "', expected type 'string'");
  const auto which = name.asString();
  if (which == "*") {
    request.reply().append("names", std::vector<std::string>{"global", "startupWarnings"});
    co_return Status::OK();
  }
  if (which != "global" && which != "startupWarnings")
    co_return Status(ErrorCode::kOperationFailed, "No log named '" + std::string(which) + "'");
  const auto lines = which == "global" ? request.server().log.recentLines() : request.server().log.startupWarnings();
  request.reply().append("totalLinesWritten",
                         which == "global" ? request.server().log.linesWritten() : static_cast<int64_t>(lines.size()));
  request.reply().append("log", lines);
  co_return Status::OK();
}

Task<Status> whatsMyUri(Request& request) {
  request.reply().append("you", request.client().remote);
  co_return Status::OK();
}

constexpr Command kInformationCommands[] = {
    {.name = "buildInfo", .alias = "buildinfo", .summary = "version and build of the server", .run = buildInfo},
    {.name = "hostInfo",
     .summary = "the machine the server runs on",
     .requirement = {Requirement::Target::kCluster, auth::Action::kHostInfo},
     .run = hostInfo},
    {.name = "connectionStatus",
     .summary = "users that are authenticated on this connection",
     .stableApi = true,
     .arguments = kConnectionStatusArguments,
     .run = connectionStatus},
    {.name = "listCommands",
     .summary = "all commands with a line of help",
     .arguments = kNamedFreely,
     .run = listCommands},
    {.name = "getLog",
     .summary = "the newest lines of the log",
     .requirement = {Requirement::Target::kCluster, auth::Action::kGetLog},
     .adminOnly = true,
     .run = getLog},
    {.name = "whatsmyuri", .summary = "the client's address as the server sees it", .run = whatsMyUri},
};

}  // namespace

std::span<const Command> informationCommands() { return kInformationCommands; }

}  // namespace troupe::commands
