#include "actors/server/shown_command.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::server {

namespace {

constexpr size_t kShownFieldBytes = 2048;
constexpr std::string_view kSecretFields[] = {"pwd", "payload", "speculativeAuthenticate"};

}  // namespace

void appendShownCommand(bson::Builder& out, bson::View command) {
  out.openDocument("command");
  for (const bson::Element& e : command) {
    if (std::find(std::begin(kSecretFields), std::end(kSecretFields), e.name()) != std::end(kSecretFields))
      out.append(e.name(), "xxx");
    else if (e.size() <= kShownFieldBytes) out.append(e);
    else out.append(e.name(), "(" + std::to_string(e.size()) + " bytes)");
  }
  out.close();
}

}  // namespace troupe::server
