#include "supervisors/admin/admin_api.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "messaging/bson/json.hpp"
#include "supervisors/admin/actor_json.hpp"
#include "supervisors/admin/web/assets.hpp"

namespace troupe::supervisors {

namespace {

/// How long an actor may take to tell about itself before its row is shown alone.
constexpr auto kInspectTime = std::chrono::milliseconds(1000);
constexpr size_t kLongestReason = 200;

HttpResponse json(const Json& body, unsigned status = 200) {
  HttpResponse response;
  response.status = status;
  response.body = dump(body) + "\n";
  return response;
}

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

Status checkNames(const HttpRequest& request, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return {ErrorCode::kBadValue, "unknown query parameter '" + name + "'"};
  }
  return Status::OK();
}

std::string parameter(const HttpRequest& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

StatusWith<bool> flag(const HttpRequest& request, const std::string& name, bool absent) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return absent;
  const std::string& value = found->second;
  if (value.empty() || value == "1" || value == "true") return true;
  if (value == "0" || value == "false") return false;
  return Status(ErrorCode::kBadValue, name + " must be 1 or 0, not '" + value + "'");
}

StatusWith<size_t> limitOf(const HttpRequest& request, size_t absent) {
  const std::string text = parameter(request, "limit");
  if (text.empty()) return absent;
  size_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  if (error != std::errc() || end != text.data() + text.size())
    return Status(ErrorCode::kBadValue, "limit must be a number from 0 on, not '" + text + "'");
  return limit;
}

struct RowQuery {
  RowFilter filter;
  size_t limit = 0;
  bool tree = false;
};

StatusWith<RowQuery> readRowQuery(const HttpRequest& request) {
  TROUPE_TRY(checkNames(request, {"tree", "type", "phase", "under", "sort", "limit"}));
  RowQuery query;
  query.filter.type = parameter(request, "type");
  query.filter.phase = parameter(request, "phase");
  query.filter.under = parameter(request, "under");
  query.filter.sort = parameter(request, "sort");
  if (!query.filter.under.empty() && query.filter.under.front() != '/')
    return Status(ErrorCode::kBadValue, "under must be a path such as /node/storage");
  const std::string_view field = std::string_view(query.filter.sort).substr(query.filter.sort.starts_with('-') ? 1 : 0);
  if (!query.filter.sort.empty() && !isRowField(field))
    return Status(ErrorCode::kBadValue, "rows have no field '" + std::string(field) + "' to sort by");
  TROUPE_ASSIGN(query.limit, limitOf(request, 0));
  TROUPE_ASSIGN(query.tree, flag(request, "tree", false));
  return query;
}

StatusWith<TransitionFilter> readTransitionFilter(const HttpRequest& request) {
  TROUPE_TRY(checkNames(request, {"under", "machine", "instance", "moves", "limit"}));
  TransitionFilter filter;
  filter.under = parameter(request, "under");
  filter.machine = parameter(request, "machine");
  filter.instance = parameter(request, "instance");
  TROUPE_ASSIGN(filter.movesOnly, flag(request, "moves", false));
  TROUPE_ASSIGN(filter.limit, limitOf(request, filter.limit));
  if (filter.limit == 0) filter.limit = TransitionLog::kRecords;
  return filter;
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

/// The entry of a child in its supervisor's state document.
bson::Document specificationOf(bson::View supervisor, const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const bson::Element children = supervisor["children"];
  if (!children.is(bson::Type::kArray)) return {};
  for (const bson::Element& child : children.asArray()) {
    if (child.is(bson::Type::kDocument) && child.asDocument()["name"].toStringOr() == name)
      return bson::Document(child.asDocument());
  }
  return {};
}

constexpr std::string_view kActors = "/actors", kSessionsAbove = "/sessions/", kKill = "/kill";
constexpr size_t kUsualSessions = 100, kMostSessions = 1000;

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
  if (who.outcome == Identity::Outcome::kUnknown) co_return logInFirst();
  if (!who.mayLook)
    co_return errorResponse(403, ErrorCode::kUnauthorized,
                            who.user + " may not look: it needs a role such as clusterMonitor");
  const std::string token = who.sessionToken;
  const char* secure = request.encrypted ? "; Secure" : "";
  HttpResponse response = co_await route(std::move(request), std::move(who));
  if (!token.empty())
    response.headers.emplace_back(
        "Set-Cookie", std::string(kSessionCookie) + "=" + token + "; Path=/; HttpOnly; SameSite=Strict" + secure);
  co_return response;
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
    const Status named = checkNames(request, {});
    if (!named.isOK()) co_return errorResponse(named);
    co_return co_await actor(request.path.substr(kActors.size()));
  }
  if (request.path == kActors) co_return actors(request);
  if (request.path == "/metrics" && sources_.metrics)
    co_return HttpResponse{200, "text/plain; version=0.0.4; charset=utf-8", sources_.metrics(), {}};
  if (request.path == "/status" && sources_.status) co_return json(toJson(sources_.status().view()));
  if (request.path == "/locks" && sources_.locks) co_return locks();
  if (request.path == "/sessions" && sources_.sessions) co_return sessions(request);
  if (request.path == "/transitions") co_return transitions(request);
  if (request.path == "/me") {
    co_return json(Json{{"user", who.user}, {"mayAct", who.mayAct}, {"mayKill", who.mayKill}, {"node", node_.name()}});
  }
  if (request.path == "/events") co_return HttpResponse{200, "text/event-stream; charset=utf-8", "", {}, true};
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
  if (!who.mayKill)
    return errorResponse(403, ErrorCode::kUnauthorized,
                         who.user + " may not end sessions: it needs a role such as hostManager");
  sources_.killSession({reinterpret_cast<const char*>(id->bytes.data()), id->bytes.size()});
  std::string what = "kill session " + id->toString();
  if (const std::string why = parameter(request, "reason"); !why.empty()) what += ": " + why.substr(0, kLongestReason);
  if (sources_.audit) sources_.audit(who.user, what, Status::OK());
  return json(Json{{"ok", true}, {"session", id->toString()}, {"action", "kill"}}, 202);
}

HttpResponse AdminApi::transitions(const HttpRequest& request) const {
  const auto filter = readTransitionFilter(request);
  if (!filter.isOK()) return errorResponse(filter.status());
  Json list = Json::array();
  for (const TransitionRecord& record : node_.transitions().find(*filter)) list.push_back(toJson(record));
  return json(Json{{"node", node_.name()},
                   {"at", isoTime(node_.environment().wallNow())},
                   {"dropped", node_.transitions().dropped()},
                   {"transitions", std::move(list)}});
}

HttpResponse AdminApi::actors(const HttpRequest& request) const {
  const auto query = readRowQuery(request);
  if (!query.isOK()) return errorResponse(query.status());
  auto rows = node_.registry().rows(query->filter);
  const size_t total = rows.size();
  if (query->limit > 0 && rows.size() > query->limit) rows.resize(query->limit);
  Json body{{"node", node_.name()}, {"at", isoTime(node_.environment().wallNow())}, {"total", total}};
  if (query->tree) {
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
  const auto action = controlActionOf(name == "trace" && !*enabled ? "untrace" : name);
  if (!action || path.empty()) co_return notFound(request.path);
  const Status named = checkNames(request, {"enabled", "reason"});
  if (!named.isOK()) co_return errorResponse(named);
  if (isForged(request)) co_return forged();
  if (!who.mayAct)
    co_return errorResponse(403, ErrorCode::kUnauthorized,
                            who.user + " may not act: it needs a role such as clusterManager");
  std::string reason = "asked for by " + (who.user.empty() ? "an operator" : who.user);
  if (const std::string why = parameter(request, "reason"); !why.empty())
    reason += ": " + why.substr(0, kLongestReason);
  const Status outcome = co_await controlActor(node_, path, *action, reason);
  if (sources_.audit) sources_.audit(who.user, name + " " + path, outcome);
  if (!outcome.isOK()) co_return errorResponse(outcome);
  Json body{{"ok", true}, {"path", path}, {"action", name}};
  if (name == "trace") body["enabled"] = *enabled;
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
