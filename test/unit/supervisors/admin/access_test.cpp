#include "supervisors/admin/access.hpp"

#include "messaging/auth/credentials.hpp"
#include "messaging/auth/crypto.hpp"
#include "messaging/bson/json.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

using bson::operator""_json;

std::string basic(std::string_view userAndPassword) { return "Basic " + auth::toBase64(userAndPassword); }

TEST(ParseBasic, ReadsNameDatabaseAndPassword) {
  const auto plain = parseBasic(basic("ann:s:ecret"));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->user, "ann");
  EXPECT_EQ(plain->database, "admin");
  EXPECT_EQ(plain->password, "s:ecret");
  const auto elsewhere = parseBasic("bASIC " + auth::toBase64("ann@shop:x"));
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->user, "ann");
  EXPECT_EQ(elsewhere->database, "shop");
}

TEST(ParseBasic, RefusesEverythingElse) {
  for (const std::string& header :
       {std::string(), std::string("Basic"), std::string("Basic !!"), std::string("Bearer abc"), basic("nocolon"),
        basic(":nouser"), basic(std::string(5000, 'a') + ":x")}) {
    EXPECT_FALSE(parseBasic(header)) << header.substr(0, 20);
  }
}

TEST(IsLoopbackHost, KnowsTheNamesOfThisMachineOnly) {
  for (const char* host : {"localhost", "localhost:8080", "127.0.0.1:1", "127.8.8.8", "[::1]:8080", "[::1]"})
    EXPECT_TRUE(isLoopbackHost(host)) << host;
  for (const char* host :
       {"", ":80", "example.org", "localhost.example.org:80", "evil.localhost", "127.evil.com", "127.0.0.1.evil.com",
        "127.0.0.1:80.evil.com", "localhost:", "localhost:80x", "[::1", "[::1]evil", "10.0.0.1", "[fe80::1]:80"})
    EXPECT_FALSE(isLoopbackHost(host)) << host;
}

TEST(IsForged, WantsTheHeaderAndTheSameOrigin) {
  HttpRequest request;
  request.host = "localhost:9";
  EXPECT_TRUE(isForged(request)) << "a form of another site sends no such header";
  request.action = "restart";
  EXPECT_FALSE(isForged(request));
  request.origin = "http://localhost:9";
  EXPECT_FALSE(isForged(request));
  request.origin = "http://evil.example";
  EXPECT_TRUE(isForged(request));
  for (const char* origin :
       {"null", "localhost:9", "ftp://localhost:9", "http://localhost:90", "http://localhost:9/"}) {
    request.origin = origin;
    EXPECT_TRUE(isForged(request)) << origin;
  }
  request.host.clear();
  request.origin = "http://";
  EXPECT_TRUE(isForged(request));
}

/// Does the work at once and counts it.
struct InlineWork final : server::BlockingWork {
  int jobs = 0;
  bool lost = false;
  void run(std::string_view, server::WorkLength, std::function<Status()> work,
           std::function<void(Status)> done) override {
    ++jobs;
    if (!lost) done(work());
  }
};

class UserAccessTest : public KernelTest {
 protected:
  std::map<std::string, bson::Document> users;
  Status readable;  ///< whether users can be read
  InlineWork work;
  int failures = 0;
  UserAccess access{
      {.find = [this](std::string_view user, std::string_view database) -> StatusWith<std::optional<bson::Document>> {
         if (!readable.isOK()) return readable;
         const auto found = users.find(std::string(user) + "@" + std::string(database));
         return found == users.end() ? std::nullopt : std::optional(found->second);
       },
       .privilegesOf = [](bson::View user) -> StatusWith<auth::PrivilegeSet> {
         auth::PrivilegeSet all;
         for (const bson::Element& role : user["roles"].asArray())
           TROUPE_TRY(all.addRole(role.asDocument()["role"].toStringOr(), role.asDocument()["db"].toStringOr()));
         return all;
       },
       .onFailure = [this](const Status&) { ++failures; },
       .blocking = &work,
       .environment = time.get(),
       .random = auth::secureRandom(),
       .secret = "secret"}};

  void addUser(const std::string& name, const std::string& password, const bson::Document& roles) {
    const auth::Mechanism mechanisms[] = {auth::Mechanism::kScramSha256};
    const auto credentials = auth::makeUserCredentials(name.substr(0, name.find('@')), password, mechanisms,
                                                       auth::secureRandom(), {4096, 4096});
    ASSERT_TRUE(credentials.isOK());
    bson::Builder b;
    b.append("credentials", *credentials).append(roles["roles"]);
    users[name] = b.finish();
  }
  Identity identify(const std::string& authorization, const std::string& cookie = "") {
    HttpRequest request;
    request.authorization = authorization;
    request.cookie = cookie;
    return node.wait(access.identify(request));
  }
  static bool mayLook(const Identity& who) { return who.may(auth::Action::kViewActors); }
  static bool mayAct(const Identity& who) { return who.may(auth::Action::kManageActors); }
  static bool mayKill(const Identity& who) { return who.may(auth::Action::kKillAnySession); }
  static bool known(const Identity& who) { return who.outcome == Identity::Outcome::kKnown; }
  const bson::Document monitor = R"({"roles": [{"role": "clusterMonitor", "db": "admin"}]})"_json;
  const bson::Document manager =
      R"({"roles": [{"role": "clusterMonitor", "db": "admin"}, {"role": "clusterManager", "db": "admin"}]})"_json;
  const bson::Document reader = R"({"roles": [{"role": "read", "db": "shop"}]})"_json;
};

TEST_F(UserAccessTest, KnowsNobodyWithoutCredentials) {
  EXPECT_FALSE(known(identify("")));
  EXPECT_FALSE(known(identify("", "troupe-admin=made-up")));
  EXPECT_EQ(work.jobs, 0);
}

TEST_F(UserAccessTest, LooksByClusterMonitorAndActsByClusterManager) {
  addUser("mo@admin", "pw", monitor);
  addUser("ma@admin", "pw", manager);
  addUser("re@admin", "pw", reader);
  const auto mo = identify(basic("mo:pw"));
  EXPECT_TRUE(known(mo) && mayLook(mo) && !mayAct(mo));
  const auto ma = identify(basic("ma:pw"));
  EXPECT_TRUE(known(ma) && mayLook(ma) && mayAct(ma) && !mayKill(ma)) << "sessions are ended by hostManager";
  const auto re = identify(basic("re:pw"));
  EXPECT_TRUE(known(re) && !mayLook(re) && !mayAct(re));
}

TEST_F(UserAccessTest, RefusesWrongPasswordsAndUnknownUsersWithTheSameWork) {
  addUser("ann@admin", "pw", monitor);
  EXPECT_FALSE(known(identify(basic("ann:other"))));
  EXPECT_EQ(work.jobs, 1);
  EXPECT_FALSE(known(identify(basic("bob:pw"))));
  EXPECT_EQ(work.jobs, 2) << "who is no user costs as much as a wrong password";
}

TEST_F(UserAccessTest, ChecksAPasswordOnceForASession) {
  addUser("ann@shop", "pw", monitor);
  const auto first = identify(basic("ann@shop:pw"));
  ASSERT_TRUE(known(first));
  EXPECT_EQ(first.user, "ann@shop");
  ASSERT_FALSE(first.sessionToken.empty());
  EXPECT_TRUE(known(identify(basic("ann@shop:pw"))));
  EXPECT_TRUE(known(identify("", "troupe-admin=" + first.sessionToken)));
  EXPECT_EQ(work.jobs, 1);
}

TEST_F(UserAccessTest, EndsASessionAfterItsTime) {
  addUser("ann@admin", "pw", monitor);
  const auto first = identify(basic("ann:pw"));
  time->advance(1h);
  EXPECT_FALSE(known(identify("", "troupe-admin=" + first.sessionToken)));
}

TEST_F(UserAccessTest, ForgetsASessionWhenTheUserChanges) {
  addUser("ann@admin", "pw", manager);
  const auto first = identify(basic("ann:pw"));
  addUser("ann@admin", "new", monitor);
  EXPECT_FALSE(known(identify("", "troupe-admin=" + first.sessionToken))) << "the password has changed";
  EXPECT_FALSE(known(identify(basic("ann:pw"))));
  EXPECT_TRUE(known(identify(basic("ann:new"))));
  users.clear();
  EXPECT_FALSE(known(identify(basic("ann:new")))) << "the user was dropped";
}

TEST_F(UserAccessTest, TakesARevokedRoleAwayAtOnce) {
  addUser("ann@admin", "pw", manager);
  ASSERT_TRUE(mayAct(identify(basic("ann:pw"))));
  bson::Builder b;
  b.append(users["ann@admin"]["credentials"]).append(monitor["roles"]);
  users["ann@admin"] = b.finish();
  const auto again = identify(basic("ann:pw"));
  EXPECT_TRUE(known(again) && mayLook(again));
  EXPECT_FALSE(mayAct(again));
}

/// As during a rollback.
TEST_F(UserAccessTest, KeepsSessionsWhileUsersCannotBeRead) {
  addUser("ann@admin", "pw", monitor);
  const auto first = identify(basic("ann:pw"));
  ASSERT_EQ(work.jobs, 1);
  readable = Status(ErrorCode::kLockTimeout, "users and roles cannot be read");
  for (const auto& who : {identify(basic("ann:pw")), identify("", "troupe-admin=" + first.sessionToken),
                          identify(basic("ann:other")), identify(basic("bob:pw"))}) {
    EXPECT_EQ(who.outcome, Identity::Outcome::kUnreadable);
    EXPECT_FALSE(mayLook(who));
  }
  EXPECT_EQ(work.jobs, 1) << "no password is compared with a decoy";
  readable = Status::OK();
  EXPECT_TRUE(mayLook(identify("", "troupe-admin=" + first.sessionToken)));
  EXPECT_TRUE(mayLook(identify(basic("ann:pw"))));
  EXPECT_EQ(work.jobs, 1) << "both are still logged in";
}

/// No second try mends that.
TEST_F(UserAccessTest, TellsWhatElseKeepsUsersFromBeingRead) {
  addUser("ann@admin", "pw", monitor);
  const auto first = identify(basic("ann:pw"));
  readable = Status(ErrorCode::kDataCorruptionDetected, "a view");
  for (const auto& who : {identify(basic("ann:pw")), identify(basic("bob:pw")), access.again(first.logIn)}) {
    EXPECT_EQ(who.outcome, Identity::Outcome::kFailed);
    EXPECT_EQ(who.failure, ErrorCode::kDataCorruptionDetected);
  }
  EXPECT_EQ(failures, 3);
  readable = Status::OK();
  EXPECT_TRUE(mayLook(identify("", "troupe-admin=" + first.sessionToken))) << "the session goes on";
}

/// An event stream keeps that, and no header of its request.
TEST_F(UserAccessTest, KnowsAUserAgainByTheLogIn) {
  addUser("ann@admin", "pw", monitor);
  const LogIn logIn = identify(basic("ann:pw")).logIn;
  EXPECT_EQ(logIn.fingerprint.find("pw"), std::string::npos);
  EXPECT_TRUE(mayLook(access.again(logIn)));
  EXPECT_FALSE(known(access.again({}))) << "nobody's";
  addUser("ann@admin", "new", monitor);
  EXPECT_FALSE(known(access.again(logIn))) << "the password has changed";
  const LogIn next = identify(basic("ann:new")).logIn;
  time->advance(1h);
  EXPECT_FALSE(known(access.again(next))) << "its time is over";
  EXPECT_EQ(work.jobs, 2);
}

TEST_F(UserAccessTest, RefusesWhenTheWorkerGoesAwayWithThePassword) {
  addUser("ann@admin", "pw", monitor);
  work.lost = true;
  EXPECT_FALSE(known(identify(basic("ann:pw"))));
}

}  // namespace
}  // namespace troupe::supervisors
