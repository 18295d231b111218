#include "actors/kernel/caf_messages.hpp"

#include <caf/atom.hpp>
#include <caf/make_message.hpp>

namespace troupe {

namespace {

constexpr auto kCategory = caf::atom("troupe");
constexpr uint8_t kFailure = 1;  // the number of the error is in the context: ours do not fit into a byte

}  // namespace

caf::message toCafMessage(const Payload& payload) {
  if (payload.is<caf::message>()) return payload.local<caf::message>();
  return caf::make_message(payload);
}

Payload fromCafMessage(caf::message message) {
  if (message.match_elements<Payload>()) return message.get_as<Payload>(0);
  return local(std::move(message));
}

caf::error toCafError(const Status& status) {
  if (status.isOK()) return {};
  return {kFailure, kCategory, caf::make_message(static_cast<int32_t>(status.code()), status.reason())};
}

Status fromCafError(const caf::error& error) {
  if (!error) return {};
  const auto& context = error.context();
  if (error.category() == kCategory && context.match_elements<int32_t, std::string>())
    return {static_cast<ErrorCode>(context.get_as<int32_t>(0)), context.get_as<std::string>(1)};
  return {ErrorCode::kInternalError, "CAF: " + caf::to_string(error)};
}

}  // namespace troupe
