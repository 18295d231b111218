// troupe actor, history: all that is known of one actor, an operator's actions on it, and what machines did.
#include <unistd.h>

#include <chrono>
#include <iostream>

#include "supervisors/cli/actor_details.hpp"
#include "supervisors/cli/actor_rows.hpp"
#include "supervisors/cli/command_line.hpp"

namespace troupe::supervisors {
namespace {

/// Steps of its machine that `troupe actor` shows.
constexpr int kShownSteps = 10;

struct ActorOptions {
  ServerOption server;
  std::string path;
  std::string action, reason;
  bool json = false;
};

struct HistoryOptions {
  ServerOption server;
  std::string path, machine, instance;
  bool moves = false, all = false;
  int64_t limit = 100;
  bool json = false;
};

int64_t nowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

size_t outputWidth() { return isTerminal(STDOUT_FILENO) ? terminalSize().columns : 200; }

int act(client::Connection& connection, const ActorOptions& options, const std::string& path) {
  bson::Builder command;
  command.append("controlActor", path).append("action", options.action);
  if (!options.reason.empty()) command.append("reason", options.reason);
  const auto reply = connection.run("admin", command.finish());
  if (!reply.isOK()) return complain(reply.status());
  if (options.json) return printJson(*reply);
  std::cout << options.action << " " << path << ": done\n";
  return kExitDone;
}

int actor(const ActorOptions& options) {
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  const auto rows = readActorRows(*connection);
  if (!rows.isOK()) return complain(rows.status());
  const auto* row = findActor(*rows, options.path);
  if (!row) return complainOfNoActor(options.path);
  const std::string path((*row)["path"].toStringOr());
  if (!options.action.empty()) return act(*connection, options, path);
  const auto details = connection->run("admin", bson::doc("actorDetails", path));
  if (!details.isOK()) return complain(details.status());
  if (options.json) return printJson(*details);
  const Paint paint(isTerminal(STDOUT_FILENO));
  std::cout << renderActorDetails(*details, nowMillis(), outputWidth(), paint);
  if (!(*details)["machine"].is(bson::Type::kDocument)) return kExitDone;
  const auto steps =
      readRows(*connection, bson::doc("transitionLog", 1, "path", path, "moves", true, "limit", kShownSteps));
  if (!steps.isOK()) return complain(steps.status());
  std::cout << "\n" << paint.bold("its last moves") << "\n" << renderTransitions(*steps, false, paint);
  return kExitDone;
}

int history(const HistoryOptions& options) {
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  bson::Builder command;
  command.append("transitionLog", 1).append("limit", options.limit).append("moves", options.moves);
  if (options.all) command.append("members", true);
  if (!options.path.empty()) command.append("path", options.path);
  if (!options.machine.empty()) command.append("machine", options.machine);
  if (!options.instance.empty()) command.append("instance", options.instance);
  const auto records = readRows(*connection, command.finish());
  if (!records.isOK()) return complain(records.status());
  if (options.json) return printJson(*records);
  std::cout << renderTransitions(*records, true, Paint(isTerminal(STDOUT_FILENO)));
  return kExitDone;
}

}  // namespace

void addActor(ArgumentParser& program) {
  auto options = std::make_shared<ActorOptions>();
  auto& command = program.command("actor", "show all that is known of one actor, or act on it",
                                  [options] { return actor(*options); });
  command.add("PATH", &options->path, "its path, or as much of its end as names it alone", {.required = true});
  command.add("--action", &options->action, "carried out by its supervisor, instead of showing it",
              {.oneOf = {"restart", "park", "resume", "trace", "untrace"}});
  command.add("--reason", &options->reason, "why, for the log");
  addServerOption(command, options->server);
  addJsonOption(command, options->json);
}

void addHistory(ArgumentParser& program) {
  auto options = std::make_shared<HistoryOptions>();
  auto& command = program.command("history", "tell what machines did, also those that have ended",
                                  [options] { return history(*options); });
  command.add("PATH", &options->path, "only machines of this actor and below it");
  command.add("--machine", &options->machine, "only machines of this kind");
  command.add("--instance", &options->instance, "only this one, by the `_id` of its document");
  command.add("--moves", &options->moves, "only steps that changed a phase or a document");
  command.add("--all", &options->all, "of all members of the replica set");
  command.add("--limit", &options->limit, "so many of the newest steps (0: all that are known)",
              {.showDefault = true, .least = 0});
  addServerOption(command, options->server);
  addJsonOption(command, options->json);
}

}  // namespace troupe::supervisors
