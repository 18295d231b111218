#include "supervisors/cli/command_line.hpp"

#include <iostream>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {

void addServerOption(ArgumentParser& command, ServerOption& option) {
  command.add("--uri", &option.uri, "the server: host:port or mongodb://[user:password@]host:port/[?tls=true...]",
              {.showDefault = true, .valueName = "URI", .variable = "TROUPE_URI"});
}

/// A frozen server takes connections and answers nothing: without a limit of its own in the URI nobody waits for ever.
/// In its query string any number counts, also 0 for none.
StatusWith<client::Target> targetOf(const ServerOption& option) {
  TROUPE_ASSIGN(client::Target target, client::parseTarget(option.uri));
  if (option.uri.find("socketTimeoutMS=") == std::string::npos) target.socketTimeoutMs = option.answerTimeoutMs;
  return target;
}

std::unique_ptr<client::Connection> connectOrExplain(const ServerOption& option) {
  const auto target = targetOf(option);
  if (!target.isOK()) {
    complain(target.status().reason(), kExitUsage);
    return nullptr;
  }
  auto connection = client::Connection::open(*target);
  if (connection.isOK()) return std::make_unique<client::Connection>(std::move(*connection));
  complain(connection.status().reason());
  if (connection.status() == ErrorCode::kHostUnreachable && !target->tls)
    std::cerr << "        Is a server running there? Start one with `troupe-demo` or `trouped --dbpath DIR`, or name "
                 "another with --uri.\n";
  return nullptr;
}

void addJsonOption(ArgumentParser& command, bool& json) {
  command.add("--json", &json, "print JSON for programs instead of text for people");
}

int printJson(bson::View document) {
  std::cout << bson::toRelaxedJson(document) << std::endl;
  return kExitDone;
}

int printJson(const std::vector<bson::Document>& documents) {
  const char* before = "[";
  for (const auto& document : documents) {
    std::cout << before << bson::toRelaxedJson(document.view());
    before = ",\n ";
  }
  std::cout << (documents.empty() ? "[]" : "]") << std::endl;
  return kExitDone;
}

int complain(std::string_view message, int code) {
  std::cout.flush();
  std::cerr << "troupe: " << message << "\n";
  return code;
}

int complain(const Status& status) {
  const bool lost = status == ErrorCode::kHostUnreachable || status == ErrorCode::kNetworkTimeout;
  return complain(lost ? status.reason() : status.reason() + " (" + errorName(status.code()) + ")",
                  lost ? kExitUnreachable : kExitFailed);
}

}  // namespace troupe::supervisors
