// getParameter, setParameter, getCmdLineOpts, configureFailPoint.
#include "actors/commands/families.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

void appendParameter(bson::Builder& reply, const Parameters& parameters, std::string_view name, bool details) {
  if (!details) {
    reply.append(name, parameters.get(name));
    return;
  }
  reply.openDocument(name)
      .append("value", parameters.get(name))
      .append("settableAtRuntime", parameters.settableAtRuntime(name))
      .append("settableAtStartup", parameters.settableAtStartup(name))
      .close();
}

constexpr Argument kShownParameters[] = {flagArg("showDetails"), flagArg("allParameters"), stringArg("setAt")};

/// What getParameter is to show, as its own field says: "*", or a document.
struct Shown {
  bool details = false;
  bool all = false;
  std::string_view setAt;  ///< of all: those that can be set then, "startup" or "runtime"; empty: all of them
};

StatusWith<Shown> shownParameters(const bson::Element& what) {
  if (!what.is(bson::Type::kDocument)) return Shown{.all = what.toStringOr() == "*"};
  const bson::View options = what.asDocument();
  TROUPE_TRY(checkFields("getParameter", kShownParameters, options));
  Shown shown{options["showDetails"].truthy(), options["allParameters"].truthy(), options["setAt"].toStringOr()};
  if (options["setAt"].is(bson::Type::kString) && shown.setAt != "startup" && shown.setAt != "runtime")
    return Status(ErrorCode::kBadValue, "Enumeration value '" + std::string(shown.setAt) +
                                            "' for field 'getParameter.setAt' is not a valid value.");
  return shown;
}

bool isSettable(const Parameters& parameters, std::string_view name, std::string_view when) {
  if (when.empty()) return true;
  return when == "startup" ? parameters.settableAtStartup(name) : parameters.settableAtRuntime(name);
}

Task<Status> getParameter(Request& request) {
  const Parameters& parameters = request.server().parameters;
  TROUPE_CO_ASSIGN(const Shown shown, shownParameters(request.body().first()));
  int found = 0;
  for (const auto name : parameters.names()) {
    if (!(shown.all ? isSettable(parameters, name, shown.setAt) : request.body().has(name))) continue;
    appendParameter(request.reply(), parameters, name, shown.details);
    ++found;
  }
  const bson::Document points = request.server().failPoints.describe();
  for (const bson::Element& e : request.body()) {
    if (!e.name().starts_with("failpoint.")) continue;
    if (const auto point = points[e.name().substr(10)]; point) {
      request.reply().append(e.name(), point);
      ++found;
    }
  }
  if (found == 0) co_return Status(ErrorCode::kInvalidOptions, "no option found to get");
  co_return Status::OK();
}

Task<Status> setParameter(Request& request) {
  ServerContext& server = request.server();
  int changed = 0;
  bool first = true;
  for (const bson::Element& e : request.body()) {
    if (first || isGenericArgument(e.name())) {
      first = false;
      continue;
    }
    TROUPE_CO_ASSIGN(auto old, server.parameters.set(e.name(), e, false));
    if (changed++ == 0) request.reply().append("was", old);
    server.log.info(log::Component::kControl, 23435, "conn" + std::to_string(request.client().connectionId),
                    "Successfully set parameter to value",
                    bson::doc("parameterName", e.name(), "newValue", e, "oldValue", old));
  }
  if (changed == 0)
    co_return Status(ErrorCode::kInvalidOptions, "no option found to set, use help:true to see options ");
  co_return Status::OK();
}

Task<Status> getCmdLineOpts(Request& request) {
  request.reply().appendAll(request.server().identity.commandLine);
  co_return Status::OK();
}

constexpr Argument kConfigureFailPointArguments[] = {anyArg("mode").required(), documentArg("data")};

Task<Status> configureFailPoint(Request& request) {
  const auto name = request.body().first().toStringOr();
  TROUPE_CO_ASSIGN(const auto entered,
                   request.server().failPoints.configure(name, request.arg("mode"), request.document("data")));
  request.reply().append("count", entered);
  co_return Status::OK();
}

constexpr Command kParameterCommands[] = {
    {.name = "getParameter",
     .summary = "values of server parameters",
     .requirement = {Requirement::Target::kCluster, auth::Action::kGetParameter},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = getParameter},
    {.name = "setParameter",
     .summary = "changes a server parameter",
     .requirement = {Requirement::Target::kCluster, auth::Action::kSetParameter},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = setParameter},
    {.name = "getCmdLineOpts",
     .summary = "the options the server was started with",
     .requirement = {Requirement::Target::kCluster, auth::Action::kGetCmdLineOpts},
     .adminOnly = true,
     .run = getCmdLineOpts},
    {.name = "configureFailPoint",
     .summary = "makes the server fail on purpose, for tests",
     .requirement = {Requirement::Target::kCluster, auth::Action::kSetParameter},
     .access = Access::kAdmin,
     .adminOnly = true,
     .testOnly = true,
     .arguments = kConfigureFailPointArguments,
     .run = configureFailPoint},
};

}  // namespace

std::span<const Command> parameterCommands() { return kParameterCommands; }

}  // namespace troupe::commands
