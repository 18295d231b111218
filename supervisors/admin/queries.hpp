#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "actors/kernel/registry.hpp"
#include "actors/kernel/transition_log.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "supervisors/admin/actor_json.hpp"
#include "supervisors/admin/http_message.hpp"

namespace troupe::supervisors {

// What the addresses of the admin endpoint read from their requests, and how they answer. Errors: BadValue.

HttpResponse json(const Json& body, unsigned status = 200);

/// Refuses query parameters that the address does not take.
Status checkNames(const HttpRequest& request, std::initializer_list<std::string_view> known);
/// A query parameter; empty if it is not given.
std::string parameter(const HttpRequest& request, const std::string& name);
/// 1, 0, true, false, or nothing behind the name, which is true.
StatusWith<bool> flag(const HttpRequest& request, const std::string& name, bool absent);
StatusWith<size_t> limitOf(const HttpRequest& request, size_t absent);

/// GET /actors.
struct RowQuery {
  RowFilter filter;
  size_t limit = 0;      ///< 0: all
  bool tree = false;     ///< nested
  bool members = false;  ///< of all members of the set
};
StatusWith<RowQuery> readRowQuery(const HttpRequest& request);

/// GET /transitions.
struct StepQuery {
  TransitionFilter filter;
  bool members = false;  ///< of all members of the set
};
StatusWith<StepQuery> readStepQuery(const HttpRequest& request);

/// The entry of a child in its supervisor's state document; empty if it is none.
bson::Document specificationOf(bson::View supervisor, const std::string& path);

}  // namespace troupe::supervisors
