#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/client/connection.hpp"
#include "messaging/errors/status.hpp"
#include "supervisors/arguments/argument_parser.hpp"

namespace troupe::supervisors {

/// Exit codes of `troupe`.
enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,       ///< the command could not do its work, or not all of it
  kExitUsage = 2,        ///< the command line is wrong
  kExitUnreachable = 3,  ///< no server, or it refuses the log-in
};

/// The server's address.
struct ServerOption {
  std::string uri = "mongodb://127.0.0.1:27017";
  int64_t answerTimeoutMs =
      30'000;  ///< longest wait for one answer where the URI names no socketTimeoutMS; 0: no limit
};
/// Errors: those of client::parseTarget.
StatusWith<client::Target> targetOf(const ServerOption& option);
void addServerOption(ArgumentParser& command, ServerOption& option);

/// Connects, or says on standard error why not and what to do; the result is then empty.
std::unique_ptr<client::Connection> connectOrExplain(const ServerOption& option);

/// `--json`: one document of relaxed Extended JSON on standard output instead of text for people.
void addJsonOption(ArgumentParser& command, bool& json);
/// Writes a document on a line of its own; gives `kExitDone`.
int printJson(bson::View document);
/// As one array.
int printJson(const std::vector<bson::Document>& documents);

/// "troupe: ..." on standard error; gives `kExitUnreachable` for a lost connection, else `kExitFailed`.
int complain(const Status& status);
int complain(std::string_view message, int code = kExitFailed);

// The subcommands (tree and top share a source, so do actor and history, and ping and status).
void addImport(ArgumentParser& program);
void addExport(ArgumentParser& program);
void addTree(ArgumentParser& program);
void addTop(ArgumentParser& program);
void addActor(ArgumentParser& program);
void addHistory(ArgumentParser& program);
void addPing(ArgumentParser& program);
void addStatus(ArgumentParser& program);
void addRs(ArgumentParser& program);
void addSessions(ArgumentParser& program);
void addCluster(ArgumentParser& program);
void addSim(ArgumentParser& program);

}  // namespace troupe::supervisors
