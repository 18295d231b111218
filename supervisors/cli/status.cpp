// troupe ping, status: is a server there, and how is it?
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include <fmt/format.h>

#include "supervisors/cli/actor_rows.hpp"
#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/table.hpp"

namespace troupe::supervisors {
namespace {

using Clock = std::chrono::steady_clock;

struct StatusOptions {
  ServerOption server;
  int64_t count = 1;
  bool json = false;
};

int ping(const StatusOptions& options) {
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  for (int64_t i = 0; i < options.count; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto begun = Clock::now();
    const auto reply = connection->run("admin", bson::doc("ping", 1));
    if (!reply.isOK()) return complain(reply.status());
    const double took = std::chrono::duration<double>(Clock::now() - begun).count();
    if (options.json) printJson(bson::doc("server", connection->target().address(), "seconds", took));
    else std::cout << connection->target().address() << " answered in " << formatDuration(took) << std::endl;
  }
  return kExitDone;
}

void line(const Paint& paint, std::string_view name, const std::string& value) {
  if (!value.empty()) std::cout << paint.dim(fmt::format("{:<14}", name)) << value << "\n";
}

/// One line of what the server says about itself.
void showServer(const Paint& paint, client::Connection& connection, bson::View status) {
  line(paint, "server",
       fmt::format("{}  {} {}", connection.target().address(), status["process"].toStringOr("server"),
                   status["version"].toStringOr()));
  line(paint, "up for", formatDuration(status["uptime"].toDouble()));
  const auto connections = status.at("connections.current");
  if (connections.ok())
    line(paint, "connections",
         fmt::format("{} open, {} opened since the start", formatCount(connections.toInt64()),
                     formatCount(status.at("connections.totalCreated").toInt64())));
  const auto counters = status["opcounters"];
  if (counters.is(bson::Type::kDocument)) {
    std::string text;
    for (const auto& counter : counters.asDocument())
      if (counter.toInt64() > 0)
        text += (text.empty() ? "" : ", ") + formatCount(counter.toInt64()) + " " + std::string(counter.name());
    line(paint, "operations", text);
  }
  if (const auto resident = status.at("mem.resident"); resident.ok())
    line(paint, "memory", formatBytes(resident.toDouble() * 1024 * 1024));
}

void showDatabases(const Paint& paint, bson::View list) {
  if (!list["databases"].is(bson::Type::kArray)) return;
  Table table({{"database"}, {"on disk", true}});
  for (const auto& item : list["databases"].asArray()) {
    const bson::View database = item.asDocument();
    table.add({std::string(database["name"].toStringOr()), formatBytes(database["sizeOnDisk"].toDouble())});
  }
  if (table.rows() > 0) std::cout << "\n" << table.render(terminalSize().columns, paint, "");
}

/// {serverStatus, actors: [rows], databases}: the parts that the user may look at.
int printStatus(client::Connection& connection, bson::View serverStatus) {
  bson::Builder b;
  b.append("server", connection.target().address()).append("serverStatus", serverStatus);
  if (const auto rows = readActorRows(connection); rows.isOK()) b.append("actors", *rows);
  if (const auto list = connection.run("admin", bson::doc("listDatabases", 1)); list.isOK())
    b.append("databases", (*list)["databases"]);
  return printJson(b.finish());
}

int status(const StatusOptions& options) {
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  const auto serverStatus = connection->run("admin", bson::doc("serverStatus", 1));
  if (!serverStatus.isOK()) return complain(serverStatus.status());
  if (options.json) return printStatus(*connection, *serverStatus);
  const Paint paint(isTerminal(STDOUT_FILENO));
  showServer(paint, *connection, *serverStatus);
  // Not every user may look at these.
  if (const auto rows = readActorRows(*connection); rows.isOK()) line(paint, "actors", summarizeActors(*rows));
  if (const auto list = connection->run("admin", bson::doc("listDatabases", 1)); list.isOK())
    showDatabases(paint, *list);
  return kExitDone;
}

}  // namespace

void addPing(ArgumentParser& program) {
  auto options = std::make_shared<StatusOptions>();
  auto& command = program.command("ping", "ask a server whether it is there", [options] { return ping(*options); });
  addServerOption(command, options->server);
  command.add("-n,--count", &options->count, "how often, once a second", {.showDefault = true, .least = 1});
  addJsonOption(command, options->json);
}

void addStatus(ArgumentParser& program) {
  auto options = std::make_shared<StatusOptions>();
  auto& command = program.command("status", "show how a server is: connections, operations, memory, databases",
                                  [options] { return status(*options); });
  addServerOption(command, options->server);
  addJsonOption(command, options->json);
}

}  // namespace troupe::supervisors
