#include "supervisors/admin/admin_api.hpp"

#include <nlohmann/json.hpp>

#include "messaging/bson/json.hpp"
#include "messaging/description/bson_archive.hpp"
#include "supervisors/admin/actor_json.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

class Worker : public Echo {
 public:
  void onStart() override { setPhase("idle", "waiting for work"); }
  bson::Document describe() const override { return bson::doc("answer", 42); }
};

/// Answers every request as the given identity.
struct FixedAccess final : Access {
  FixedAccess() { allow(auth::ActionSet().set()); }
  Identity who{.outcome = Identity::Outcome::kKnown, .user = "ann@admin"};
  Task<Identity> identify(HttpRequest) override { co_return who; }
  Identity again(const LogIn&) override { return who; }
  void allow(const auth::ActionSet& actions) {
    who.privileges = {};
    who.privileges.add({.kind = auth::ResourcePattern::Kind::kCluster}, actions);
  }
  void allowAllBut(std::initializer_list<auth::Action> actions) { allow(~auth::actions(actions)); }
};

class AdminApiTest : public KernelTest {
 protected:
  std::shared_ptr<FixedAccess> access = std::make_shared<FixedAccess>();
  Status readiness;
  std::vector<std::string> audited, killed;
  std::vector<std::string> asked;  ///< commands that went to members, with their users
  Status refusal;                  ///< of these commands

  Task<AdminSources::Reply> run(std::string user, bson::Document command) {
    asked.push_back(user + " " + bson::toRelaxedJson(command));
    if (!refusal.isOK()) co_return refusal;
    if (command.view().first().name() == "controlActor") co_return bson::doc("ok", 1.0);
    const bool isParent = command["actorDetails"].toStringOr() == "/node";
    bson::Document child = bson::doc("name", "x", "restart", "permanent");
    bson::Document state = isParent ? bson::doc("children", bson::array(child)) : bson::doc("answer", 42);
    bson::Document row = bson::doc("path", command["actorDetails"].toStringOr(), "node", command["node"].toStringOr(),
                                   "startedAt", bson::Date{0}, "parent", isParent ? "" : "/node");
    bson::Document message = bson::doc("message", "Ping", "at", bson::Date{0});
    co_return bson::doc("row", row, "state", state, "received", bson::array(message), "sent", bson::array());
  }
  Task<AdminSources::Rows> rows(std::string user, bson::Document command) {
    asked.push_back(user + " " + bson::toRelaxedJson(command));
    if (!refusal.isOK()) co_return refusal;
    bson::Document lost = bson::doc("node", "c:3", "path", "/node", "unreachable", "HostUnreachable: refused");
    std::vector<bson::Document> found{lost};
    if (command.view().first().name() == "actorTree") {
      found.push_back(bson::doc("node", "a:1", "path", "/node", "handled", 1, "startedAt", bson::Date{0}));
      found.push_back(bson::doc("node", "b:2", "path", "/node", "handled", 7, "startedAt", bson::Date{0}));
    } else {
      TransitionRecord record;
      record.at = {1500};
      record.path = "/node/errand";
      record.event = "Agreed";
      found.push_back(bson::Builder().append("node", "b:2").appendAll(machines::toBson(record)).finish());
    }
    co_return found;
  }
  static Task<bson::Document> picture() { co_return bson::doc("set", "rs", "members", bson::array()); }
  AdminApi api{node,
               {.metrics = [] { return std::string("troupe_up 1\n"); },
                .status = [] { return bson::doc("uptime", 3.5); },
                .locks = [] { return std::vector{bson::doc("resourceId", "Collection test.c")}; },
                .sessions =
                    [](size_t most) {
                      return std::vector<bson::Document>(std::min<size_t>(most, 3), bson::doc("user", "bob@admin"));
                    },
                .sessionCount = [] { return size_t{3}; },
                .killSession = [this](std::string_view id) { killed.emplace_back(id); },
                .ready = [this] { return readiness; },
                .audit =
                    [this](const std::string& user, const std::string& what, const Status& outcome) {
                      audited.push_back(user + " " + what + " " + errorName(outcome.code()));
                    },
                .run = [this](const std::string& user, const bson::Document& command) { return run(user, command); },
                .rows = [this](const std::string& user, const bson::Document& command) { return rows(user, command); },
                .set = [] { return picture(); }},
               access,
               true};

  void SetUp() override {
    startTree(node, oneForOne("node", oneForOne("storage", permanent<Worker>("flusher"), permanent<Worker>("reaper")),
                              permanent<Worker>("listener")));
    node.run();
  }
  HttpResponse send(const std::string& method, const std::string& target,
                    const std::function<void(HttpRequest&)>& change = {}) {
    HttpRequest request;
    request.method = method;
    request.host = "localhost";
    EXPECT_TRUE(parseTarget(target, request).isOK());
    if (method == "POST") request.action = "1";
    if (change) change(request);
    return node.wait(api.handle(request));
  }
  Json get(const std::string& target, unsigned status = 200) {
    const auto response = send("GET", target);
    EXPECT_EQ(response.status, status) << response.body;
    return Json::parse(response.body);
  }
  std::vector<std::string> paths(const std::string& target) {
    std::vector<std::string> out;
    const Json body = get(target);
    for (const auto& row : body["rows"]) out.push_back(row["path"]);
    return out;
  }
  using Paths = std::vector<std::string>;
};

TEST_F(AdminApiTest, ListsTheRowsOfAllActors) {
  const Json body = get("/actors");
  EXPECT_EQ(body["node"], "n1");
  EXPECT_EQ(body["total"], 5);
  EXPECT_EQ(paths("/actors"),
            (Paths{"/node", "/node/listener", "/node/storage", "/node/storage/flusher", "/node/storage/reaper"}));
}

TEST_F(AdminApiTest, TellsWhatMachinesDid) {
  TransitionRecord record;
  record.path = "/node/storage/errand";
  record.machine = "errand";
  record.event = "Agreed";
  record.from = "asking";
  record.to = "telling";
  record.effects = {"send Finished to n1"};
  node.transitions().add(record);
  const Json body = get("/transitions?under=/node/storage&moves=1&limit=5");
  ASSERT_EQ(body["transitions"].size(), 1u);
  EXPECT_EQ(body["transitions"][0]["from"], "asking");
  EXPECT_EQ(body["transitions"][0]["effects"][0], "send Finished to n1");
  EXPECT_TRUE(body["transitions"][0]["cause"].is_null());
  EXPECT_EQ(body["dropped"], 0);
  EXPECT_TRUE(get("/transitions?machine=other")["transitions"].empty());
  get("/transitions?limit=x", 400);
  get("/transitions?since=1", 400);
}

TEST_F(AdminApiTest, FiltersSortsAndLimitsRows) {
  EXPECT_EQ(paths("/actors?phase=idle&sort=-path&limit=2"), (Paths{"/node/storage/reaper", "/node/storage/flusher"}));
  EXPECT_EQ(get("/actors?phase=idle&limit=2")["total"], 3) << "the total is of all that match";
  EXPECT_EQ(paths("/actors?under=/node/storage"),
            (Paths{"/node/storage", "/node/storage/flusher", "/node/storage/reaper"}));
  EXPECT_EQ(paths("/actors?type=Supervisor"), (Paths{"/node", "/node/storage"}));
  EXPECT_EQ(paths("/actors?type=Nothing"), Paths{});
}

TEST_F(AdminApiTest, NestsRowsAndShowsTheAncestorsOfWhatMatches) {
  const Json tree = get("/actors?tree=1&phase=idle&under=/node/storage")["roots"];
  ASSERT_EQ(tree.size(), 1U);
  EXPECT_EQ(tree[0]["path"], "/node");
  ASSERT_EQ(tree[0]["children"].size(), 1U);
  EXPECT_EQ(tree[0]["children"][0]["children"].size(), 2U);
}

TEST_F(AdminApiTest, RefusesMalformedQueries) {
  for (const char* target : {"/actors?sort=colour", "/actors?limit=-1", "/actors?limit=ten", "/actors?tree=maybe",
                             "/actors?under=node", "/actors?colour=red", "/actors/node?tree=1"})
    EXPECT_EQ(get(target, 400)["error"]["codeName"], "BadValue") << target;
}

TEST_F(AdminApiTest, ShowsAnActorWithStateSpecificationAndMessages) {
  ASSERT_TRUE(ask(node.address("/node/listener"), ping(7)).isOK());
  const Json body = get("/actors/node/listener");
  EXPECT_EQ(body["row"]["phase"], "idle");
  EXPECT_EQ(body["row"]["parent"], "/node");
  EXPECT_EQ(body["state"]["answer"], 42);
  EXPECT_EQ(body["childSpecification"]["name"], "listener");
  EXPECT_EQ(body["childSpecification"]["restart"], "permanent");
  EXPECT_EQ(body["received"][0]["message"], "Ping");
  EXPECT_TRUE(get("/actors/node")["childSpecification"].is_null());
}

TEST_F(AdminApiTest, AnswersUnknownPathsWithNotFound) {
  for (const char* target : {"/actors/node/nobody", "/actors/", "/nothing", "/../etc/passwd", "/actors/node/listener/"})
    EXPECT_EQ(get(target, 404)["error"]["status"], 404) << target;
  EXPECT_EQ(send("POST", "/actors/node/nobody/restart").status, 404U);
  EXPECT_EQ(send("POST", "/actors/node/listener/dance").status, 404U);
  EXPECT_EQ(send("POST", "/actors/restart").status, 404U);
}

TEST_F(AdminApiTest, ShowsHoldersAndWaitersOfLocks) {
  const Json body = get("/locks");
  EXPECT_EQ(body["node"], "n1");
  EXPECT_EQ(body["resources"], Json::parse(R"([{"resourceId": "Collection test.c"}])"));
}

TEST_F(AdminApiTest, ShowsSessions) {
  const Json body = get("/sessions?limit=2");
  EXPECT_EQ(body["node"], "n1");
  EXPECT_EQ(body["total"], 3);
  EXPECT_EQ(body["sessions"], Json::parse(R"([{"user": "bob@admin"}, {"user": "bob@admin"}])"));
  EXPECT_EQ(get("/sessions?limit=x", 400)["error"]["codeName"], "BadValue");
}

TEST_F(AdminApiTest, EndsASession) {
  const std::string address = "/sessions/30313233-3435-3637-3839-616263646566/kill";
  EXPECT_EQ(send("POST", "/sessions/5/kill").status, 400U);
  EXPECT_EQ(send("POST", "/sessions/30313233-3435-3637-3839-616263646566").status, 404U);
  EXPECT_EQ(send("POST", address, [](HttpRequest& request) { request.action.clear(); }).status, 403U);
  access->allowAllBut({auth::Action::kKillAnySession});
  EXPECT_EQ(send("POST", address).status, 403U) << "who may act on actors may not end sessions";
  EXPECT_TRUE(killed.empty());
  access->allow(auth::ActionSet().set());
  EXPECT_EQ(send("POST", address + "?reason=stuck").status, 202U);
  EXPECT_EQ(killed, std::vector<std::string>{"0123456789abcdef"});
  EXPECT_EQ(audited, std::vector<std::string>{"ann@admin kill session 30313233-3435-3637-3839-616263646566: stuck OK"});
}

TEST_F(AdminApiTest, RestartsAnActor) {
  const auto response = send("POST", "/actors/node/listener/restart?reason=try");
  EXPECT_EQ(response.status, 202U) << response.body;
  node.run();
  EXPECT_EQ(get("/actors/node/listener")["row"]["incarnation"], 2);
  EXPECT_EQ(get("/actors/node/listener")["row"]["phase"], "idle");
  EXPECT_EQ(audited, std::vector<std::string>{"ann@admin restart /node/listener OK"});
}

TEST_F(AdminApiTest, ParksAndResumesAnActor) {
  EXPECT_EQ(send("POST", "/actors/node/listener/park?reason=disk").status, 202U);
  node.run();
  const Json parked = get("/actors/node/listener");
  EXPECT_EQ(parked["row"]["phase"], "parked");
  EXPECT_EQ(parked["childSpecification"]["reason"], "asked for by ann@admin: disk");
  EXPECT_EQ(send("POST", "/actors/node/listener/park").status, 409U) << "it is parked already";
  EXPECT_EQ(send("POST", "/actors/node/listener/resume").status, 202U);
  node.run();
  EXPECT_EQ(get("/actors/node/listener")["row"]["phase"], "idle");
}

TEST_F(AdminApiTest, TracesAnActor) {
  EXPECT_EQ(send("POST", "/actors/node/listener/trace").status, 202U);
  const auto off = send("POST", "/actors/node/listener/trace?enabled=0");
  EXPECT_EQ(off.status, 202U);
  EXPECT_EQ(Json::parse(off.body)["enabled"], false);
  EXPECT_EQ(send("POST", "/actors/node/listener/trace?enabled=perhaps").status, 400U);
}

TEST_F(AdminApiTest, DoesNotRestartTheRootOfTheTree) { EXPECT_EQ(send("POST", "/actors/node/restart").status, 409U); }

TEST_F(AdminApiTest, RefusesActionsThatAnotherSiteMayHaveForged) {
  EXPECT_EQ(send("POST", "/actors/node/listener/restart", [](HttpRequest& r) { r.action.clear(); }).status, 403U);
  EXPECT_EQ(
      send("POST", "/actors/node/listener/restart", [](HttpRequest& r) { r.origin = "http://evil.example"; }).status,
      403U);
  EXPECT_EQ(get("/actors/node/listener")["row"]["incarnation"], 1);
}

TEST_F(AdminApiTest, RefusesForeignHostNamesOnLoopback) {
  EXPECT_EQ(send("GET", "/actors", [](HttpRequest& r) { r.host = "evil.example"; }).status, 403U);
}

TEST_F(AdminApiTest, AsksForALogIn) {
  access->who = {};
  const auto response = send("GET", "/actors");
  EXPECT_EQ(response.status, 401U);
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].first, "WWW-Authenticate");
  EXPECT_EQ(send("GET", "/healthz").status, 200U) << "health is nobody's secret";
  EXPECT_EQ(send("GET", "/readyz").status, 200U);
}

TEST_F(AdminApiTest, LetsOnlyThoseActWhoMay) {
  access->allowAllBut({auth::Action::kManageActors});
  EXPECT_EQ(send("GET", "/actors").status, 200U);
  EXPECT_EQ(send("POST", "/actors/node/listener/restart").status, 403U);
  access->allowAllBut({auth::Action::kViewActors});
  EXPECT_EQ(send("GET", "/actors").status, 403U);
  EXPECT_EQ(send("GET", "/").status, 403U);
}

TEST_F(AdminApiTest, APageNeedsWhatTheCommandNeedsThatTellsTheSame) {
  using enum auth::Action;
  const std::pair<const char*, auth::Action> pages[] = {
      {"/actors", kViewActors},     {"/actors/node", kViewActors}, {"/transitions", kViewActors},
      {"/events", kViewActors},     {"/me", kViewActors},          {"/", kViewActors},
      {"/status", kServerStatus},   {"/metrics", kServerStatus},   {"/locks", kServerStatus},
      {"/sessions", kListSessions}, {"/set", kReplSetGetStatus}};
  for (const auto& [page, action] : pages) {
    access->allow(auth::actions({action}));
    EXPECT_EQ(send("GET", page).status, 200U) << page;
    access->allowAllBut({action});
    EXPECT_EQ(send("GET", page).status, 403U) << page;
    EXPECT_EQ(send("HEAD", page).status, 403U) << page;
    EXPECT_NE(send("GET", page).body.find(auth::actionName(action)), std::string::npos) << page;
  }
  access->allowAllBut({});
  auth::PrivilegeSet monitor;
  ASSERT_TRUE(monitor.addRole("clusterMonitor", "admin").isOK());
  access->who.privileges = monitor;
  for (const auto& [page, action] : pages) EXPECT_EQ(send("GET", page).status, 200U) << page;
  auth::PrivilegeSet manager;
  ASSERT_TRUE(manager.addRole("clusterManager", "admin").isOK());
  access->who.privileges = manager;
  for (const auto& [page, action] : pages) {
    EXPECT_EQ(send("GET", page).status, action == kServerStatus ? 403U : 200U) << page;
  }
}

TEST_F(AdminApiTest, SaysThatUsersCannotBeReadNow) {
  access->who = {.outcome = Identity::Outcome::kUnreadable};
  const auto response = send("GET", "/actors");
  EXPECT_EQ(response.status, 503U);
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].first, "Retry-After");
  EXPECT_EQ(send("GET", "/healthz").status, 200U);
}

TEST_F(AdminApiTest, TellsWhyUsersCannotBeRead) {
  access->who = {.outcome = Identity::Outcome::kFailed,
                 .failure = {ErrorCode::kDataCorruptionDetected, "admin.system.users is a view: drop it"}};
  const Json body = get("/actors", 500);
  EXPECT_NE(std::string(body["error"]["message"]).find("drop it"), std::string::npos);
  EXPECT_EQ(api.maySeeEvents({}), std::nullopt) << "nothing is known of the client";
}

TEST_F(AdminApiTest, HandsOutTheSessionAsACookieScriptsCannotRead) {
  access->who.sessionToken = "abc";
  const auto response = send("GET", "/me");
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_EQ(response.headers[0].second, "troupe-admin=abc; Path=/; HttpOnly; SameSite=Strict");
}

TEST_F(AdminApiTest, TellsWhetherItIsReady) {
  EXPECT_EQ(get("/readyz")["status"], "ready");
  readiness = Status(ErrorCode::kHostUnreachable, "still starting");
  EXPECT_EQ(get("/readyz", 503)["reason"], "still starting");
}

TEST_F(AdminApiTest, ServesMetricsStatusAndEvents) {
  EXPECT_EQ(send("GET", "/metrics").body, "troupe_up 1\n");
  EXPECT_EQ(get("/status")["uptime"], 3.5);
  access->who.logIn.user = "ann";
  const auto stream = send("GET", "/events");
  EXPECT_TRUE(stream.events);
  EXPECT_EQ(stream.eventsOf.user, "ann");
}

TEST_F(AdminApiTest, RefusesOtherMethods) {
  const auto response = send("DELETE", "/actors");
  EXPECT_EQ(response.status, 405U);
  EXPECT_EQ(response.headers[0].second, "GET, HEAD");
  EXPECT_EQ(send("POST", "/actors").status, 405U);
}

TEST_F(AdminApiTest, ListsTheRowsOfAllMembers) {
  const Json body = get("/actors?members=1&under=/node");
  EXPECT_EQ(body["total"], 3);
  EXPECT_EQ(body["rows"][0]["unreachable"], "HostUnreachable: refused");
  EXPECT_EQ(body["rows"][1]["node"], "a:1");
  EXPECT_EQ(body["rows"][1]["startedAt"], "1970-01-01T00:00:00.000Z");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_TRUE(asked[0].starts_with("ann@admin ")) << asked[0];
  EXPECT_NE(asked[0].find("/node"), std::string::npos) << "the filter goes along: " << asked[0];
  const Json sorted = get("/actors?members=1&sort=-handled&limit=2");
  EXPECT_EQ(sorted["total"], 3);
  ASSERT_EQ(sorted["rows"].size(), 2U);
  EXPECT_EQ(sorted["rows"][0]["node"], "c:3") << "what could not be asked is not sorted away";
  EXPECT_EQ(sorted["rows"][1]["node"], "b:2");
  get("/actors?members=1&tree=1", 400);
}

TEST_F(AdminApiTest, TellsWhatMachinesOfAllMembersDid) {
  const Json body = get("/transitions?members=1&moves=1");
  ASSERT_EQ(body["transitions"].size(), 2U);
  EXPECT_EQ(body["transitions"][0]["node"], "c:3");
  EXPECT_EQ(body["transitions"][1]["node"], "b:2");
  EXPECT_EQ(body["transitions"][1]["at"], "1970-01-01T00:00:01.500Z");
  EXPECT_TRUE(body["transitions"][1]["cause"].is_null());
}

TEST_F(AdminApiTest, ShowsAnActorOfAnotherMember) {
  const Json body = get("/actors/node/x?node=b:2");
  EXPECT_EQ(body["row"]["node"], "b:2");
  EXPECT_EQ(body["row"]["startedAt"], "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(body["state"]["answer"], 42);
  EXPECT_TRUE(body["machine"].is_null());
  EXPECT_EQ(body["childSpecification"]["restart"], "permanent");
  EXPECT_EQ(body["received"][0]["message"], "Ping");
  EXPECT_TRUE(body["received"][0]["peer"].is_null());
  refusal = Status(ErrorCode::kHostUnreachable, "refused");
  get("/actors/node/x?node=b:2", 503);
}

TEST_F(AdminApiTest, HasAnotherMemberActAsTheUser) {
  const auto response = send("POST", "/actors/node/x/trace?enabled=0&node=b:2&reason=try");
  EXPECT_EQ(response.status, 202U) << response.body;
  EXPECT_EQ(Json::parse(response.body)["row"]["node"], "b:2");
  ASSERT_FALSE(asked.empty());
  for (const char* part : {"ann@admin ", "controlActor", "/node/x", "untrace", "b:2", "try"})
    EXPECT_NE(asked[0].find(part), std::string::npos) << part << " in " << asked[0];
  EXPECT_EQ(audited, std::vector<std::string>{"ann@admin trace /node/x on b:2 OK"});
  refusal = Status(ErrorCode::kUnauthorized, "not there");
  EXPECT_EQ(send("POST", "/actors/node/x/restart?node=b:2").status, 403U);
  asked.clear();
  access->allowAllBut({auth::Action::kManageActors});
  EXPECT_EQ(send("POST", "/actors/node/x/restart?node=b:2").status, 403U);
  EXPECT_TRUE(asked.empty()) << "who may not act here has nobody act";
}

TEST_F(AdminApiTest, DrawsTheSet) { EXPECT_EQ(get("/set")["set"], "rs"); }

TEST_F(AdminApiTest, ServesThePageAndKnowsWhatTheBrowserHas) {
  const auto page = send("GET", "/");
  EXPECT_EQ(page.status, 200U);
  EXPECT_EQ(page.contentType, "text/html; charset=utf-8");
  EXPECT_NE(page.body.find("<title>Troupe</title>"), std::string::npos);
  const std::string etag = page.headers[0].second;
  const auto again = send("GET", "/", [&](HttpRequest& r) { r.ifNoneMatch = etag; });
  EXPECT_EQ(again.status, 304U);
  EXPECT_TRUE(again.body.empty());
}

/// The page works on machines without a way to the internet, and the policy would stop it anyway.
TEST_F(AdminApiTest, ThePageNamesNothingOutsideItself) {
  for (const char* file : {"/", "/main.js", "/store.js", "/actors.js", "/side.js", "/format.js", "/machine.js",
                           "/diagram_layout.js", "/timeline.js", "/timeline_view.js", "/trace_file.js", "/page.css",
                           "/panels.css", "/machine.css", "/timeline.css"}) {
    const auto response = send("GET", file);
    ASSERT_EQ(response.status, 200U) << file;
    std::string text = response.body;
    for (size_t at; (at = text.find("http://www.w3.org/2000/svg")) != std::string::npos;) text.erase(at, 26);
    EXPECT_EQ(text.find("http:"), std::string::npos) << file;
    EXPECT_EQ(text.find("https:"), std::string::npos) << file;
    EXPECT_EQ(text.find("innerHTML"), std::string::npos) << file << ": text is set as text";
  }
}

TEST_F(AdminApiTest, DescribesEveryAddressInOpenApi) {
  const Json description = get("/openapi.json");
  EXPECT_TRUE(description["openapi"].get<std::string>().starts_with("3."));
  std::vector<std::string> described;
  for (const auto& item : description["paths"].items()) described.push_back(item.key());
  EXPECT_THAT(described,
              ::testing::UnorderedElementsAre(
                  "/actors", "/actors/{path}", "/actors/{path}/restart", "/actors/{path}/park", "/actors/{path}/resume",
                  "/actors/{path}/trace", "/metrics", "/status", "/locks", "/sessions", "/sessions/{id}/kill",
                  "/transitions", "/set", "/me", "/events", "/healthz", "/readyz", "/openapi.json", "/"));
  std::vector<std::string> fields;
  for (const auto& item : description["components"]["schemas"]["Row"]["properties"].items())
    fields.push_back(item.key());
  std::vector<std::string> row;
  const Json sample = toJson(ActorRow{});
  for (const auto& item : sample.items()) row.push_back(item.key());
  EXPECT_EQ(fields, row);
}

}  // namespace
}  // namespace troupe::supervisors
