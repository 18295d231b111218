// troupe tree, top: the live actor tree in a terminal.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <thread>

#include <fmt/format.h>

#include "supervisors/cli/actor_rows.hpp"
#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/table.hpp"

namespace troupe::supervisors {
namespace {

struct TreeOptions {
  ServerOption server;
  std::string path;
  std::string sort = "rate";
  double interval = 1;
  int64_t count = 0;
  bool all = false;
  bool json = false;
};

/// Those of `rows` whose counterparts in `shown` are `root` or below it.
std::vector<bson::Document> selected(const std::vector<bson::Document>& rows, const std::vector<bson::Document>& shown,
                                     std::string_view root) {
  std::vector<bson::Document> found;
  for (size_t i = 0; i < rows.size(); ++i)
    if (!actorsBelow({shown[i]}, root).empty()) found.push_back(rows[i]);
  return found;
}

int tree(const TreeOptions& options) {
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  const auto rows = readActorRows(*connection, options.all);
  if (!rows.isOK()) return complain(rows.status());
  const std::vector<bson::Document> shown = options.all ? treeOfMembers(*rows) : *rows;
  std::string_view root;
  if (!options.path.empty()) {
    const auto* row = findActor(shown, options.path);
    if (!row) return complainOfNoActor(options.path);
    root = (*row)["path"].toStringOr();
  }
  if (options.json) return printJson(selected(*rows, shown, root));
  const Paint paint(isTerminal(STDOUT_FILENO));
  const size_t width = isTerminal(STDOUT_FILENO) ? terminalSize().columns : 200;
  std::cout << renderActorTree(shown, width, paint, root);
  if (root.empty()) std::cout << "\n" << summarizeActors(shown) << "\n";
  return kExitDone;
}

std::atomic<bool> interrupted = false;
void interrupt(int) { interrupted = true; }

std::string topPage(const std::vector<bson::Document>& rows, const TreeOptions& options, const TerminalSize& size,
                    const Paint& paint) {
  Table table({{"actor", false, 20},
               {"phase", false, 8},
               {"msgs/s", true},
               {"busy", true, 5},
               {"waiting", true},
               {"handled", true},
               {"restarts", true},
               {"last message", false, 12}});
  const auto sorted = sortedActors(rows, options.sort);
  for (size_t i = 0; i < sorted.size() && (options.count > 0 || i + 5 < size.lines); ++i) {
    const bson::View row = sorted[i];
    table.add({std::string(row["path"].toStringOr()), std::string(row["phase"].toStringOr()),
               fmt::format("{:.1f}", row["handledPerSecond"].toDouble()),
               fmt::format("{:.1f}%", row["busyShare"].toDouble() * 100), formatCount(row["mailboxLength"].toInt64()),
               formatCount(row["handled"].toInt64()), formatCount(row["restarts"].toInt64()),
               std::string(row["lastMessage"].toStringOr())});
  }
  return table.render(size.columns, paint, "");
}

/// Waits, but not longer than until Ctrl-C.
void pause(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!interrupted && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

int top(TreeOptions options) {
  const bool terminal = isTerminal(STDOUT_FILENO) && !options.json;
  if (!terminal && options.count == 0) options.count = 1;
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  const Paint paint(terminal);
  const bool wholeScreen = terminal && options.count == 0;
  // The alternate screen leaves the terminal's history as it was.
  if (wholeScreen) std::cout << "\x1b[?1049h\x1b[?25l";
  int code = kExitDone;
  for (int64_t shown = 0; !interrupted && (options.count == 0 || shown < options.count); ++shown) {
    if (shown > 0) pause(options.interval);
    if (interrupted) break;
    const auto rows = readActorRows(*connection);
    if (!rows.isOK()) {
      if (wholeScreen) std::cout << "\x1b[?25h\x1b[?1049l";
      return complain(rows.status());
    }
    if (options.json) {
      printJson(sortedActors(*rows, options.sort));
      continue;
    }
    if (wholeScreen) std::cout << "\x1b[H\x1b[2J";
    std::cout << summarizeActors(*rows)
              << paint.dim("   sorted by " + options.sort + (wholeScreen ? "   Ctrl-C ends" : "")) << "\n\n"
              << topPage(*rows, options, terminalSize(), paint) << std::flush;
  }
  if (wholeScreen) std::cout << "\x1b[?25h\x1b[?1049l" << std::flush;
  return code;
}

}  // namespace

void addTree(ArgumentParser& program) {
  auto options = std::make_shared<TreeOptions>();
  auto& command =
      program.command("tree", "draw the actors of a server as a tree", [options] { return tree(*options); });
  command.add("PATH", &options->path, "only this actor and what is below it");
  command.add("--all", &options->all, "of all members of the replica set, each below its name");
  addServerOption(command, options->server);
  addJsonOption(command, options->json);
}

void addTop(ArgumentParser& program) {
  auto options = std::make_shared<TreeOptions>();
  auto& command = program.command("top", "watch the busiest actors of a server", [options] { return top(*options); });
  addServerOption(command, options->server);
  command.add("--sort", &options->sort, "what the first rows have most of",
              {.showDefault = true, .oneOf = {"rate", "handled", "busy", "mailbox", "restarts", "path"}});
  command.add("--interval", &options->interval, "seconds between two looks",
              {.showDefault = true, .least = 0.1, .most = 3600});
  command.add("-n,--count", &options->count, "end after so many looks (0: at Ctrl-C; 1 when the output is no terminal)",
              {.least = 0});
  addJsonOption(command, options->json);
}

}  // namespace troupe::supervisors
