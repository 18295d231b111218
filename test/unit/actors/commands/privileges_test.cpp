// Every command, with each privilege it needs taken away, on each kind of resource: the lines of
// test/security/privileges.jsonl, which docs/operators/privileges.md shows.
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

namespace {

using auth::ActionSet;
using auth::Privilege;
using auth::ResourcePattern;

constexpr const char* kTable = "test/security/privileges.jsonl";  // tests run in the root of the project
constexpr int64_t kNotAllowed = 13;
constexpr std::string_view kDatabases[] = {"shop", "other"};
constexpr std::string_view kCollections[] = {"c",    "joined", "third",     "target",  "made",
                                             "seen", "plain",  "system.js", "view_of", "view_of_system"};

/// Where the collection of a command lies.
struct Place {
  std::string_view db, collection;
  std::string name() const { return std::string(db) + "." + std::string(collection); }
  bool isInShop() const { return db == "shop" && !collection.starts_with("system."); }
  bool isView() const { return collection.starts_with("view_"); }
};
/// The own database, another one, a system collection, and a view of each.
constexpr Place kPlaces[] = {{"shop", "c"},       {"other", "c"},       {"shop", "system.js"},
                             {"shop", "view_of"}, {"other", "view_of"}, {"shop", "view_of_system"}};

/// One privilege that an operation needs: an action, and what on.
struct Need {
  auth::Action action;
  ResourcePattern on;
};

struct Row {
  bson::Document line;
  std::string title() const { return std::string(line["operation"].toStringOr()); }
  bool isOpen() const { return line["needs"].toStringOr() == "nothing"; }
  /// Another set of privileges serves as well.
  bool hasAlternative() const { return line["alternative"].truthy(); }
  bool namesByUuid() const { return bson::toRelaxedJson(line["command"]).find("%uuid") != std::string::npos; }
  bool namesCollection() const {
    return namesByUuid() || bson::toRelaxedJson(line["command"]).find("%c") != std::string::npos;
  }
  /// An operation that its user is allowed to may yet find nothing to do, or not be possible in this place: the codes
  /// of "otherwise", or of "otherwiseOnViews".
  bool mayEndWith(int64_t code, const Place& place) const {
    const auto isListed = [&](std::string_view field) {
      if (!line[field].is(bson::Type::kArray)) return false;
      for (const bson::Element& e : line[field].asArray())
        if (e.toInt64() == code) return true;
      return false;
    };
    return code == 0 || isListed("otherwise") || (place.isView() && isListed("otherwiseOnViews"));
  }
  std::string database(const Place& place) const { return std::string(line["db"].toStringOr(place.db)); }

  /// `uuid`: of the collection, where the operation names it so.
  bson::Document command(const Place& place, const std::optional<bson::Uuid>& uuid) const {
    std::string json = bson::toRelaxedJson(line["command"].asDocument());
    const auto fill = [&](std::string_view what, std::string_view with) {
      for (size_t at; (at = json.find(what)) != std::string::npos;) json.replace(at, what.size(), with);
    };
    if (uuid) fill("\"%uuid\"", bson::toRelaxedJson(bson::doc("uuid", *uuid)["uuid"]));
    fill("%db", place.db);
    fill("%c", place.collection);
    return *bson::fromJson(json);
  }

  std::vector<Need> needs(const Place& place) const {
    std::vector<Need> all;
    if (!line["needs"].is(bson::Type::kArray)) return all;
    for (const bson::Element& e : line["needs"].asArray()) {
      const std::string text(e.toStringOr());
      const auto on = text.find(" on ");
      const auto action = auth::actionByName(text.substr(0, on));
      EXPECT_TRUE(action) << text;
      all.push_back({action.value_or(auth::Action::kFind), pattern(text.substr(on + 4), place)});
    }
    return all;
  }

 private:
  static ResourcePattern pattern(const std::string& what, const Place& place) {
    static const std::map<std::string, std::string> kNames = {{"the joined one", "joined"},
                                                              {"the third one", "third"},
                                                              {"the target", "target"},
                                                              {"the new one", "made"},
                                                              {"the view", "seen"}};
    if (what == "the cluster") return {.kind = ResourcePattern::Kind::kCluster, .database = {}, .collection = {}};
    if (what == "the database") return {.database = std::string(place.db), .collection = {}};
    if (what == "the collection")
      return {.database = std::string(place.db), .collection = std::string(place.collection)};
    if (what == "system.js") return {.database = std::string(place.db), .collection = what};
    if (what == "every database") return {.database = {}, .collection = {}};
    if (what == "config.image_collection") return {.database = "config", .collection = "image_collection"};
    if (what == "far.joined") return {.database = "far", .collection = "joined"};
    EXPECT_TRUE(kNames.contains(what)) << what;
    return {.database = std::string(place.db), .collection = kNames.at(what)};
  }
};

std::vector<Row> readTable() {
  std::vector<Row> rows;
  std::ifstream file(kTable);
  for (std::string line; std::getline(file, line);) rows.push_back({*bson::fromJson(line)});
  return rows;
}

}  // namespace

class PrivilegesTest : public CommandTest {
 protected:
  PrivilegesTest() : CommandTest({.authentication = true}) { restore(); }

  bson::Document runAs(std::vector<Privilege> privileges, const bson::Document& command, std::string_view db) {
    const auto client = server.connect(false);
    AuthenticatedUser user{.name = "somebody", .database = "admin", .internal = true};
    for (const auto& privilege : privileges) user.privileges.add(privilege.resource, privilege.actions);
    client->users.push_back(std::move(user));
    auto reply = server.run(command, db, client);
    server.clients.remove(client->connectionId);
    return reply;
  }
  void must(std::string_view json, std::string_view db) {
    const auto reply = runAs({everything()}, parse(json), db);
    ASSERT_TRUE(reply["ok"].truthy()) << json << ": " << bson::toRelaxedJson(reply);
  }
  static Privilege everything() { return {{.kind = ResourcePattern::Kind::kAny}, ActionSet().set()}; }

  /// All collections, views, users and roles that commands meet, as they were before the last of them.
  void restore() {
    for (const auto db : kDatabases) {
      must(R"({"dropDatabase": 1})", db);
      for (const auto name : {"c", "joined", "third", "target", "plain", "system.js"})
        must(R"({"insert": ")" + std::string(name) + R"(", "documents": [{"_id": 1}]})", db);
      must(R"({"create": "view_of", "viewOn": "c"})", db);
      must(R"({"create": "view_of_system", "viewOn": "system.js"})", db);
      must(R"({"create": "seen", "viewOn": "c"})", db);
      restoreRole(db);
      const std::string id = std::string(db) + ".clerk";
      must(R"({"update": "system.users", "updates": [{"q": {"_id": ")" + id +
               R"("}, "upsert": true, "u": {"user": "clerk",
              "db": ")" +
               std::string(db) + R"(", "credentials": {}, "roles": [{"role": "read", "db": ")" + std::string(db) +
               R"("}]}}]})",
           "admin");
    }
  }

  void restoreRole(std::string_view db) {
    const auto role = bson::doc(
        "role", "teller", "db", db, "privileges",
        bson::array(bson::doc("resource", bson::doc("db", db, "collection", "c"), "actions", bson::array("find"))),
        "roles", bson::array(bson::doc("role", "read", "db", db)));
    const auto update = bson::doc("q", bson::doc("_id", std::string(db) + ".teller"), "u", role, "upsert", true);
    const auto reply =
        runAs({everything()}, bson::doc("update", "system.roles", "updates", bson::array(update)), "admin");
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }

  bool mayChange(const Row& row) const {
    const auto* command = server.server->commands.find(row.line["command"].asDocument().first().name());
    const std::string text = bson::toRelaxedJson(row.line["command"].asDocument());
    return command->access == Access::kWrite || text.find("$out") != std::string::npos ||
           text.find("$merge") != std::string::npos;
  }

  bson::Document commandOf(const Row& row, const Place& place) const {
    std::optional<bson::Uuid> uuid;
    if (row.namesByUuid()) uuid = server.catalog->find({place.db, place.collection})->uuid();
    return row.command(place, uuid);
  }

  /// Whether the client was allowed to, which is the only reason to be refused; afterwards all is as before.
  bool isAllowed(const Row& row, const Place& place, std::vector<Privilege> privileges) {
    const auto reply = runAs(std::move(privileges), commandOf(row, place), row.database(place));
    const bson::Element writeError = reply.view().at("writeErrors.0.code");
    const int64_t code = !reply["ok"].truthy() ? reply["code"].toInt64() : writeError.ok() ? writeError.toInt64() : 0;
    if (code == kNotAllowed) return false;
    if (mayChange(row)) restore();
    EXPECT_TRUE(row.mayEndWith(code, place))
        << row.title() << " on " << place.name() << " may not end so: " << bson::toRelaxedJson(reply);
    return true;
  }

  template <class Check>
  void eachPlace(const Row& row, Check check) {
    for (const Place& place : kPlaces) {
      const bool isOfDatabase = place.collection == "c";
      const bool hasUuid = !place.isView();
      if (row.namesByUuid() ? hasUuid : row.namesCollection() || isOfDatabase) check(place);
    }
  }

  const std::vector<Row> rows_ = readTable();
};

TEST_F(PrivilegesTest, TheTableHasEveryCommand) {
  std::set<std::string_view> named;
  for (const Row& row : rows_) named.insert(row.line["command"].asDocument().first().name());
  for (const Command* command : server.server->commands.all())
    EXPECT_TRUE(named.contains(command->name)) << command->name << " is not in " << kTable;
}

TEST_F(PrivilegesTest, TheTableHasEveryCommandThatTakesAUuid) {
  std::set<std::string_view> named;
  for (const Row& row : rows_)
    if (row.namesByUuid()) named.insert(row.line["command"].asDocument().first().name());
  for (const Command* command : server.server->commands.all())
    EXPECT_EQ(named.contains(command->name), command->takesUuid) << command->name;
}

TEST_F(PrivilegesTest, WhatTheTableNamesIsEnough) {
  for (const Row& row : rows_) {
    eachPlace(row, [&](const Place& place) {
      std::vector<Privilege> exact;
      for (const Need& need : row.needs(place)) exact.push_back({need.on, auth::actions({need.action})});
      EXPECT_TRUE(isAllowed(row, place, exact)) << row.title() << " on " << place.name();
    });
  }
}

TEST_F(PrivilegesTest, NothingThatTheTableNamesCanBeMissing) {
  for (const Row& row : rows_) {
    eachPlace(row, [&](const Place& place) {
      const auto needs = row.needs(place);
      for (size_t left = 0; left < needs.size(); ++left) {
        std::vector<Privilege> others;
        for (size_t i = 0; i < needs.size(); ++i)
          if (i != left) others.push_back({needs[i].on, auth::actions({needs[i].action})});
        EXPECT_FALSE(isAllowed(row, place, others))
            << row.title() << " on " << place.name() << " without " << auth::actionName(needs[left].action);
      }
    });
  }
}

/// All other actions on everything, and the one that is missing on everything else.
TEST_F(PrivilegesTest, NothingElseStandsInForWhatIsMissing) {
  for (const Row& row : rows_) {
    if (row.hasAlternative()) continue;
    eachPlace(row, [&](const Place& place) {
      for (const Need& missing : row.needs(place)) {
        const ActionSet action = auth::actions({missing.action});
        std::vector<Privilege> most = {{{.kind = ResourcePattern::Kind::kAny}, ~action}};
        const auto unlessMissing = [&](ResourcePattern on) {
          if (on != missing.on) most.push_back({std::move(on), action});
        };
        unlessMissing({.kind = ResourcePattern::Kind::kCluster, .database = {}, .collection = {}});
        for (const auto db : kDatabases) {
          const bool hasMissing = db == missing.on.database && !missing.on.collection.empty();
          if (!hasMissing) unlessMissing({.database = std::string(db), .collection = {}});
          for (const auto collection : kCollections)
            unlessMissing({.database = std::string(db), .collection = std::string(collection)});
        }
        EXPECT_FALSE(isAllowed(row, place, most))
            << row.title() << " on " << place.name() << " without " << auth::actionName(missing.action);
      }
    });
  }
}

TEST_F(PrivilegesTest, ADatabaseIsItsCollectionsButSystemOnes) {
  for (const Row& row : rows_) {
    if (!row.namesCollection() || row.hasAlternative()) continue;
    eachPlace(row, [&](const Place& place) {
      std::vector<Privilege> privileges = {{{.database = "shop", .collection = {}}, ActionSet().set()}};
      for (const Need& need : row.needs(place))
        if (need.on.database != place.db) privileges.push_back({need.on, auth::actions({need.action})});
      const bool needsIt = bson::toRelaxedJson(row.line["needs"]).find("the collection") != std::string::npos;
      EXPECT_EQ(isAllowed(row, place, privileges), place.isInShop() || !needsIt)
          << row.title() << " on " << place.name();
    });
  }
}

TEST_F(PrivilegesTest, NothingIsOpenToThoseWhoHaveNotLoggedInButWhatTheTableSays) {
  for (const Row& row : rows_) {
    const auto reply = server.run(commandOf(row, kPlaces[0]), row.database(kPlaces[0]), server.connect(false));
    EXPECT_EQ(reply["code"].toInt64() == kNotAllowed, !row.isOpen()) << row.title() << bson::toRelaxedJson(reply);
  }
}

/// Digests and names of indexes are told of the collections that a right on the database covers.
TEST_F(PrivilegesTest, CommandsOnADatabaseLeaveOutItsSystemCollections) {
  must(R"({"createIndexes": "system.js", "indexes": [{"key": {"x": 1}, "name": "secret", "sparse": true}]})", "shop");
  using enum auth::Action;
  const Privilege onDatabase{{.database = "shop", .collection = {}}, ActionSet().set()};
  const Privilege onSystem{{.database = "shop", .collection = "system.js"}, auth::actions({kDbHash, kValidate})};
  const auto tellsOf = [&](std::vector<Privilege> privileges, std::string_view command, std::string_view what) {
    const auto reply = runAs(std::move(privileges), parse(command), "shop");
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return bson::toRelaxedJson(reply).find(what) != std::string::npos;
  };
  for (const auto& [command, what] :
       {std::pair(R"({"dbHash": 1})", "system.js"),
        std::pair(R"({"validateDBMetadata": 1, "db": "shop", "apiParameters": {"version": "1", "strict": true}})",
                  "secret")}) {
    EXPECT_FALSE(tellsOf({onDatabase}, command, what)) << command;
    EXPECT_TRUE(tellsOf({onDatabase, onSystem}, command, what)) << command;
  }
}

}  // namespace troupe::commands
