#include "supervisors/admin/admin_api.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "messaging/bson/json.hpp"
#include "supervisors/admin/actor_json.hpp"
#include "supervisors/admin/queries.hpp"
#include "supervisors/admin/web/assets.hpp"

namespace troupe::supervisors {

namespace {

/// How long an actor may take to tell about itself before its row is shown alone.
constexpr auto kInspectTime = std::chrono::milliseconds(1000);
constexpr size_t kLongestReason = 200;

HttpResponse notFound(const std::string& path) {
  return errorResponse(404, ErrorCode::kNoSuchKey, "there is nothing at " + path);
}

HttpResponse methodNotAllowed(const char* allowed) {
  auto response = errorResponse(405, ErrorCode::kIllegalOperation, std::string("this address takes ") + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

HttpResponse logInFirst() {
  auto response = errorResponse(401, ErrorCode::kUnauthorized,
                                "log in as a user of this node: name (or name@database) and password");
  response.headers.emplace_back("WWW-Authenticate", "Basic realm=\"troupe\", charset=\"UTF-8\"");
  return response;
}

/// In a tree, the ancestors of what was found are shown as well, or it would hang in the air.
std::vector<ActorRow> withAncestors(const Registry& registry, std::vector<ActorRow> rows) {
  std::set<std::string, std::less<>> present;
  for (const auto& row : rows) present.insert(row.path);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string above = rows[i].path.substr(0, rows[i].path.rfind('/'));
    if (above.empty() || !present.insert(above).second) continue;
    if (auto row = registry.row(above)) rows.push_back(std::move(*row));
  }
  return rows;
}

constexpr std::string_view kActors = "/actors", kSessionsAbove = "/sessions/", kKill = "/kill";
constexpr size_t kUsualSessions = 100, kMostSessions = 1000;

HttpResponse unreadable() {
  auto response = errorResponse(503, ErrorCode::kLockTimeout, "users and roles cannot be read now: try again");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

/// What a page needs is what the command needs that tells the same.
struct PageRight {
  std::string_view path;
  auth::Action action;
};
constexpr PageRight kPageRights[] = {
    {"/status", auth::Action::kServerStatus},                                             // serverStatus
    {"/metrics", auth::Action::kServerStatus},  {"/locks", auth::Action::kServerStatus},  // lockInfo
    {"/sessions", auth::Action::kListSessions},                                           // sessionInfo
    {"/set", auth::Action::kReplSetGetStatus},                                            // replSetGetStatus
};

/// Actors, transitions, events and the page itself: as actorTree and its like.
auth::Action actionFor(std::string_view path) {
  const auto* const found = std::ranges::find(kPageRights, path, &PageRight::path);
  return found == std::end(kPageRights) ? auth::Action::kViewActors : found->action;
}

HttpResponse noRight(const Identity& who, std::string_view what, auth::Action needed, std::string_view role) {
  return errorResponse(403, ErrorCode::kUnauthorized,
                       who.user + " may not " + std::string(what) + ": it needs a role such as " + std::string(role) +
                           ", with the action " + std::string(auth::actionName(needed)));
}

HttpResponse forged() {
  return errorResponse(403, ErrorCode::kUnauthorized,
                       "send the header X-Troupe-Action with any value, and no Origin but this one: it shows that "
                       "no page of another site asks");
}

}  // namespace

Task<HttpResponse> AdminApi::handle(HttpRequest request) {
  if (loopback_ && !isLoopbackHost(request.host))
    co_return errorResponse(403, ErrorCode::kUnauthorized,
                            "this endpoint serves this machine only: the Host header names another");
  if (request.path == "/healthz") co_return json(Json{{"status", "alive"}});
  if (request.path == "/readyz") co_return readiness();
  Identity who = co_await access_->identify(request);
  if (who.outcome == Identity::Outcome::kOverloaded)
    co_return errorResponse(503, ErrorCode::kAuthenticationFailed, "too many log-ins at once: try again");
  if (who.outcome == Identity::Outcome::kUnreadable) co_return unreadable();
  if (who.outcome == Identity::Outcome::kFailed)
    co_return errorResponse(500, who.failure.code(), "users and roles cannot be read: " + who.failure.reason());
  if (who.outcome == Identity::Outcome::kUnknown) co_return logInFirst();
  if (const auth::Action needed = actionFor(request.path); !who.may(needed))
    co_return noRight(who, "see " + request.path, needed, "clusterMonitor");
  const std::string token = who.sessionToken;
  const char* secure = request.encrypted ? "; Secure" : "";
  HttpResponse response = co_await route(std::move(request), std::move(who));
  if (!token.empty())
    response.headers.emplace_back(
        "Set-Cookie", std::string(kSessionCookie) + "=" + token + "; Path=/; HttpOnly; SameSite=Strict" + secure);
  co_return response;
}

std::optional<bool> AdminApi::maySeeEvents(const LogIn& logIn) {
  Identity who;  // if asking fails: of nobody
  try {
    who = access_->again(logIn);
  } catch (const std::exception&) {
  }
  const bool isTold = who.outcome == Identity::Outcome::kKnown || who.outcome == Identity::Outcome::kUnknown;
  return isTold ? std::optional(who.may(actionFor("/events"))) : std::nullopt;
}

Task<HttpResponse> AdminApi::route(HttpRequest request, Identity who) {
  const bool below = request.path.starts_with("/actors/");
  if (request.method == "POST") {
    if (below) co_return co_await act(std::move(request), std::move(who));
    if (request.path.starts_with(kSessionsAbove)) co_return killSession(request, who);
    co_return findAsset(request.path) || request.path == kActors ? methodNotAllowed("GET, HEAD")
                                                                 : notFound(request.path);
  }
  if (request.method != "GET" && request.method != "HEAD")
    co_return methodNotAllowed(below ? "GET, HEAD, POST" : "GET, HEAD");
  if (below) {
    const Status named = checkNames(request, {"node"});
    if (!named.isOK()) co_return errorResponse(named);
    const std::string path = request.path.substr(kActors.size()), member = parameter(request, "node");
    if (member.empty()) co_return co_await actor(path);
    co_return co_await actorOfMember(path, member, who.user);
  }
  if (request.path == kActors) {
    const auto query = readRowQuery(request);
    if (!query.isOK()) co_return errorResponse(query.status());
    if (query->members) co_return co_await actorsOfMembers(*query, who.user);
    co_return actors(*query);
  }
  if (request.path == "/set" && sources_.set) co_return co_await set();
  if (request.path == "/metrics" && sources_.metrics)
    co_return HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", sources_.metrics(), {}};
  if (request.path == "/status" && sources_.status) co_return json(toJson(sources_.status().view()));
  if (request.path == "/locks" && sources_.locks) co_return locks();
  if (request.path == "/sessions" && sources_.sessions) co_return sessions(request);
  if (request.path == "/transitions") {
    const auto query = readStepQuery(request);
    if (!query.isOK()) co_return errorResponse(query.status());
    if (query->members) co_return co_await transitionsOfMembers(query->filter, who.user);
    co_return transitions(query->filter);
  }
  if (request.path == "/me") {
    co_return json(Json{{"user", who.user},
                        {"mayAct", who.may(auth::Action::kManageActors)},
                        {"mayKill", who.may(auth::Action::kKillAnySession)},
                        {"node", node_.name()}});
  }
  if (request.path == "/events")
    co_return HttpResponse{200, "text/event-stream; charset=utf-8", "", {}, true, std::move(who.logIn)};
  co_return asset(request);
}

HttpResponse AdminApi::readiness() const {
  const Status ready = sources_.ready ? sources_.ready() : Status::OK();
  if (ready.isOK()) return json(Json{{"status", "ready"}});
  return json(Json{{"status", "not ready"}, {"reason", ready.reason()}}, 503);
}

HttpResponse AdminApi::locks() const {
  Json resources = Json::array();
  for (const bson::Document& row : sources_.locks()) resources.push_back(toJson(row.view()));
  return json(Json{
      {"node", node_.name()}, {"at", isoTime(node_.environment().wallNow())}, {"resources", std::move(resources)}});
}

HttpResponse AdminApi::sessions(const HttpRequest& request) const {
  if (const Status named = checkNames(request, {"limit"}); !named.isOK()) return errorResponse(named);
  const auto limit = limitOf(request, kUsualSessions);
  if (!limit.isOK()) return errorResponse(limit.status());
  Json rows = Json::array();
  for (const bson::Document& row : sources_.sessions(std::clamp<size_t>(*limit, 1, kMostSessions)))
    rows.push_back(toJson(row.view()));
  return json(Json{{"node", node_.name()},
                   {"at", isoTime(node_.environment().wallNow())},
                   {"total", sources_.sessionCount()},
                   {"sessions", std::move(rows)}});
}

/// POST /sessions/<id>/kill: the sessions of that id, whoever owns them.
HttpResponse AdminApi::killSession(const HttpRequest& request, const Identity& who) const {
  std::string_view rest = std::string_view(request.path).substr(kSessionsAbove.size());
  if (!sources_.killSession || !rest.ends_with(kKill)) return notFound(request.path);
  rest.remove_suffix(kKill.size());
  const auto id = bson::Uuid::fromString(rest);
  if (!id) return errorResponse(Status(ErrorCode::kBadValue, "the id of a session is a UUID, as /sessions shows it"));
  if (const Status named = checkNames(request, {"reason"}); !named.isOK()) return errorResponse(named);
  if (isForged(request)) return forged();
  if (!who.may(auth::Action::kKillAnySession))
    return noRight(who, "end sessions", auth::Action::kKillAnySession, "hostManager");
  sources_.killSession({reinterpret_cast<const char*>(id->bytes.data()), id->bytes.size()});
  std::string what = "kill session " + id->toString();
  if (const std::string why = parameter(request, "reason"); !why.empty()) what += ": " + why.substr(0, kLongestReason);
  if (sources_.audit) sources_.audit(who.user, what, Status::OK());
  return json(Json{{"ok", true}, {"session", id->toString()}, {"action", "kill"}}, 202);
}

HttpResponse AdminApi::transitions(const TransitionFilter& filter) const {
  Json list = Json::array();
  for (const TransitionRecord& record : node_.transitions().find(filter)) list.push_back(toJson(record));
  return json(Json{{"node", node_.name()},
                   {"at", isoTime(node_.environment().wallNow())},
                   {"dropped", node_.transitions().dropped()},
                   {"transitions", std::move(list)}});
}

HttpResponse AdminApi::actors(const RowQuery& query) const {
  auto rows = node_.registry().rows(query.filter);
  const size_t total = rows.size();
  if (query.limit > 0 && rows.size() > query.limit) rows.resize(query.limit);
  Json body{{"node", node_.name()}, {"at", isoTime(node_.environment().wallNow())}, {"total", total}};
  if (query.tree) {
    body["roots"] = toTree(withAncestors(node_.registry(), std::move(rows)));
  } else {
    Json list = Json::array();
    for (const auto& row : rows) list.push_back(toJson(row));
    body["rows"] = std::move(list);
  }
  return json(body);
}

Task<HttpResponse> AdminApi::actor(std::string path) {
  const auto details = co_await node_.inspect(path, kInspectTime);
  if (!details) co_return errorResponse(404, ErrorCode::kNoSuchKey, "there is no actor " + path);
  bson::Document specification;
  if (!details->row.parent.empty()) {
    const auto supervisor = co_await node_.inspect(details->row.parent, kInspectTime);
    if (supervisor) specification = specificationOf(supervisor->state.view(), path);
  }
  co_return json(toJson(*details, specification));
}

Task<HttpResponse> AdminApi::act(HttpRequest request, Identity who) {
  const auto slash = request.path.rfind('/');
  const std::string path = request.path.substr(kActors.size(), slash - kActors.size());
  const std::string name = request.path.substr(slash + 1);
  const auto enabled = flag(request, "enabled", true);
  if (!enabled.isOK()) co_return errorResponse(enabled.status());
  const std::string wanted = name == "trace" && !*enabled ? "untrace" : name;
  const auto action = controlActionOf(wanted);
  if (!action || path.empty()) co_return notFound(request.path);
  const Status named = checkNames(request, {"enabled", "reason", "node"});
  if (!named.isOK()) co_return errorResponse(named);
  if (isForged(request)) co_return forged();
  if (!who.may(auth::Action::kManageActors))
    co_return noRight(who, "act", auth::Action::kManageActors, "clusterManager");
  const std::string why = parameter(request, "reason").substr(0, kLongestReason), member = parameter(request, "node");
  Json body{{"ok", true}, {"path", path}, {"action", name}};
  if (name == "trace") body["enabled"] = *enabled;
  if (!member.empty()) {
    const auto row = co_await controlOnMember(path, wanted, why, member, who.user);
    if (sources_.audit) sources_.audit(who.user, name + " " + path + " on " + member, row.status());
    if (!row.isOK()) co_return errorResponse(row.status());
    body["node"] = member;
    body["row"] = row->empty() ? Json() : rowJson(*row);
    co_return json(body, 202);
  }
  std::string reason = "asked for by " + (who.user.empty() ? "an operator" : who.user);
  if (!why.empty()) reason += ": " + why;
  const Status outcome = co_await controlActor(node_, path, *action, reason);
  if (sources_.audit) sources_.audit(who.user, name + " " + path, outcome);
  if (!outcome.isOK()) co_return errorResponse(outcome);
  const auto row = node_.registry().row(path);
  body["row"] = row ? toJson(*row) : Json();
  co_return json(body, 202);
}

HttpResponse AdminApi::asset(const HttpRequest& request) const {
  const Asset* found = findAsset(request.path);
  if (!found) return notFound(request.path);
  HttpResponse response;
  response.contentType = found->contentType;
  response.headers.emplace_back("ETag", found->etag);
  response.headers.emplace_back("Cache-Control", "no-cache");
  if (request.ifNoneMatch.find(found->etag) != std::string::npos) response.status = 304;
  else response.body = found->bytes;
  return response;
}

}  // namespace troupe::supervisors
