#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

#include "actors/kernel/task.hpp"
#include "actors/server/request.hpp"
#include "actors/server/session_access.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::commands {
using namespace server;

/// After so many sessions a command gives way to others.
inline constexpr size_t kSessionsAtOnce = 1000;

/// Counts the steps of a command over a list whose length its client decides: `if (steps.areMany()) co_await
/// request.yield()`.
class Steps {
 public:
  bool areMany() { return ++taken_ % kSessionsAtOnce == 0; }

 private:
  size_t taken_ = 0;
};

/// The command's own array. Errors: TypeMismatch.
StatusWith<bson::View> ownArray(const Request& request);
/// The document that an element of it is. `what` says what is expected. Errors: TypeMismatch.
StatusWith<bson::View> documentIn(const bson::Element& element, std::string_view what);
/// Calls `visit`, which outlives the call, with each document of the command's own array, in pieces, between which
/// others have their turn. Errors: those of `visit`, which ends it; TypeMismatch; what ended the operation.
Task<Status> eachDocument(Request& request, std::string_view what, const std::function<Status(bson::View)>* visit);
/// The same for sessions, after a look whether each has an id. Errors: also those of SessionKey::idOf; then nothing was
/// visited.
Task<Status> eachSession(Request& request, const std::function<Status(bson::View)>* visit);

}  // namespace troupe::commands
