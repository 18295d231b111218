#include "actors/server/shown_command.hpp"

#include <algorithm>
#include <span>

#include "messaging/log/bounded_attributes.hpp"

namespace troupe::server {

namespace {

constexpr size_t kShownBytes = 32 * 1024;
constexpr std::string_view kSecretFields[] = {"pwd", "payload", "speculativeAuthenticate"};
/// Fields whose value may be a command itself (linkRun, explain).
constexpr std::string_view kCommandFields[] = {"command", "explain"};

bool isOneOf(std::span<const std::string_view> names, const bson::Element& e) {
  return std::ranges::find(names, e.name()) != names.end();
}

void appendShown(bson::Builder& out, std::string_view name, bson::View command, size_t fieldBytes) {
  out.openDocument(name);
  const size_t start = out.size();
  for (const bson::Element& e : command) {
    if (out.size() - start > kShownBytes) {
      out.append("$truncated", true);
      break;
    }
    if (isOneOf(kSecretFields, e)) out.append(e.name(), "xxx");
    else if (isOneOf(kCommandFields, e) && e.is(bson::Type::kDocument))
      appendShown(out, e.name(), e.asDocument(), fieldBytes);
    else if (e.size() <= fieldBytes) out.append(e);
    else out.append(log::beginningOf(e.name(), kShownFieldBytes), "(" + std::to_string(e.size()) + " bytes)");
  }
  out.close();
}

}  // namespace

void appendShownCommand(bson::Builder& out, bson::View command, size_t fieldBytes) {
  appendShown(out, "command", command, fieldBytes);
}

}  // namespace troupe::server
