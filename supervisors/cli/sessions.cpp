// troupe sessions: the logical sessions of a node, and how to end one.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/session_rows.hpp"

namespace troupe::supervisors {
namespace {

constexpr int64_t kMostOfAPage = 1000;

struct SessionOptions {
  ServerOption server;
  std::string kill;
  int64_t limit = 50;
  bool json = false;
};

int killSession(client::Connection& connection, const std::string& session) {
  const auto id = bson::Uuid::fromString(session);
  if (!id) return complain("--kill takes the id of a session, as `troupe sessions` shows it: a UUID", kExitUsage);
  bson::Builder command;
  command.openArray("killAllSessionsByPattern").push(bson::doc("lsid", bson::doc("id", *id))).close();
  const auto reply = connection.run("admin", command.finish());
  if (!reply.isOK()) return complain(reply.status());
  // A server that does not say how many there were has ended what it knew.
  if ((*reply)["sessions"].toInt64(1) == 0)
    return complain("this node knows no session " + session + ": nothing was ended");
  std::cout << "The session " << session << " was ended, with its cursors and operations on this node.\n";
  return kExitDone;
}

int64_t rowsIn(const SessionRows& rows) { return static_cast<int64_t>(rows.rows().size()); }

/// Page by page, since a server gives no more at once.
StatusWith<std::vector<bson::Document>> readSessions(client::Connection& connection, int64_t limit, int64_t& total) {
  SessionRows rows;
  bson::Document after;
  for (;;) {
    bson::Builder command;
    command.append("sessionInfo", 1).append("limit", std::min(limit - rowsIn(rows), kMostOfAPage));
    if (!after.empty()) command.append("after", after);
    auto answer = connection.run("admin", command.finish());
    // Servers of an earlier version cannot go on behind a session that has ended meanwhile.
    if (answer.status() == ErrorCode::kNoSuchKey && rowsIn(rows) > 0) return rows.rows();
    TROUPE_ASSIGN(const bson::Document page, std::move(answer));
    total = page["total"].toInt64();
    rows.add(page);
    const bson::Element next = page["next"];
    if (!next.is(bson::Type::kDocument) || rowsIn(rows) >= limit) return rows.rows();
    after = bson::Document(next.asDocument());
  }
}

int sessions(const SessionOptions& options) {
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  if (!options.kill.empty()) return killSession(*connection, options.kill);
  int64_t total = 0;
  const auto rows = readSessions(*connection, options.limit, total);
  if (!rows.isOK()) return complain(rows.status());
  if (options.json) return printJson(*rows);
  const bool terminal = isTerminal(STDOUT_FILENO);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::cout << renderSessions(*rows, total, std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                              terminal ? terminalSize().columns : 200, Paint(terminal));
  return kExitDone;
}

}  // namespace

void addSessions(ArgumentParser& program) {
  auto options = std::make_shared<SessionOptions>();
  auto& command =
      program.command("sessions", "show the sessions of a node: owner, last use, cursors, operation; end one",
                      [options] { return sessions(*options); });
  addServerOption(command, options->server);
  command.add("--kill", &options->kill, "end the session of this id, with its cursors and operations",
              {.valueName = "ID"});
  command.add("--limit", &options->limit, "how many to show, the last used first", {.showDefault = true, .least = 1});
  addJsonOption(command, options->json);
}

}  // namespace troupe::supervisors
