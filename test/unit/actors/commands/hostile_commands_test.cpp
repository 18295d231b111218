// Commands that are small, or as large as a message may be, and would make the process read or take memory that is not
// theirs, or work for hours: each is refused with a code.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {

using bson::Builder;
using bson::Document;
using bson::Value;
using namespace std::string_literals;

class HostileCommandsTest : public CommandTest {
 protected:
  HostileCommandsTest() {
    EXPECT_TRUE(succeeds(R"({"setParameter": 1, "operationMemoryLimitBytes": 67108864})", "admin"));
  }

  int64_t codeOf(const Document& command, std::string_view db = "test") {
    const Document reply = server.run(command, db);
    if (const auto errors = reply["writeErrors"]; errors.is(bson::Type::kArray))
      return errors.asArray().first().asDocument()["code"].toInt64();
    return reply["code"].toInt64();
  }
  /// Of a pipeline over no collection, which needs no privilege.
  int64_t codeOfPipeline(const std::vector<Document>& stages) {
    Builder b;
    b.append("aggregate", 1).append("pipeline", stages).openDocument("cursor").close();
    return codeOf(b.finish());
  }
  static Document documents(const Document& document) {
    Builder b;
    b.openArray("$documents").push(document).close();
    return b.finish();
  }
  static Value numbers(int count) {
    Builder b;
    for (int i = 0; i < count; ++i) b.push(i);
    return b.finishArray();
  }
  static Value repeated(std::string_view text, int count) {
    Builder b;
    for (int i = 0; i < count; ++i) b.push(text);
    return b.finishArray();
  }
  /// `count` fields, all of one name.
  static Document sameNames(std::string_view name, int count) {
    Builder b;
    for (int i = 0; i < count; ++i) b.append(name, bson::Null{});
    return b.finish();
  }
  static Document deep(int levels) {
    return bson::fromJson(R"({"$reduce": {"input": {"$range": [0, )" + std::to_string(levels) +
                          R"(]}, "initialValue": {}, "in": {"a": "$$value"}}})")
        .value();
  }

  static constexpr int64_t kOverflow = 15, kExceeded = 146, kTooLarge = 10334, kResultTooLarge = 17419;
};

TEST_F(HostileCommandsTest, NoFieldNameHoldsANul) {
  const std::string name = "i\0\x02s\0\0\0\x10\0"s;
  EXPECT_EQ(codeOfPipeline({documents(bson::doc("a", bson::array(1))),
                            bson::doc("$unwind", bson::doc("path", "$a", "includeArrayIndex", name))}),
            16411);
  const Document setField = bson::doc("$setField", bson::doc("field", name, "input", Document(), "value", 1));
  EXPECT_EQ(codeOfPipeline({documents(Document()), bson::doc("$project", bson::doc("x", setField))}), 9534700);
  const Document rename =
      bson::doc("q", bson::doc("_id", 1), "u", bson::doc("$rename", bson::doc("a", name)), "upsert", true);
  EXPECT_EQ(codeOf(bson::doc("update", "c", "updates", std::vector<Document>{rename})), 2);
}

TEST_F(HostileCommandsTest, ComputedValuesNestNoDeeperThanDocuments) {
  const Document tooDeep = deep(60'000);
  const Document compared = bson::doc("$eq", std::vector<Document>{tooDeep, tooDeep});
  EXPECT_EQ(codeOfPipeline({documents(Document()), bson::doc("$project", bson::doc("x", compared))}), kOverflow);
  std::vector<Document> wraps{documents(Document())};
  for (int i = 0; i < 300; ++i) wraps.push_back(bson::doc("$addFields", bson::doc("filling", "$$ROOT")));
  wraps.push_back(bson::doc("$project", bson::doc("x.y", "$$ROOT")));
  EXPECT_EQ(codeOfPipeline(wraps), kOverflow);
  std::vector<Document> groups{documents(Document())};
  for (int i = 0; i < 300; ++i)
    groups.push_back(bson::doc("$group", bson::doc("_id", bson::Null{}, "x", bson::doc("$push", "$$ROOT"))));
  EXPECT_EQ(codeOfPipeline(groups), kOverflow);
  EXPECT_EQ(codeOfPipeline({documents(Document()), bson::doc("$project", bson::doc("x", deep(150)))}), 0);
}

TEST_F(HostileCommandsTest, WhatIsStoredIsNeitherTooDeepNorTooLarge) {
  const std::string large(9 << 20, 'x');
  ASSERT_TRUE(
      server.run(bson::doc("insert", "a", "documents", std::vector{bson::doc("_id", 1, "a", large)}))["ok"].truthy());
  ASSERT_TRUE(
      server.run(bson::doc("insert", "b", "documents", std::vector{bson::doc("_id", 1, "b", large)}))["ok"].truthy());
  const auto from = [](std::string_view collection, const std::vector<Document>& stages) {
    Builder b;
    b.append("aggregate", collection).append("pipeline", stages).openDocument("cursor").close();
    return b.finish();
  };
  EXPECT_EQ(codeOf(from("a", {bson::doc("$merge", bson::doc("into", "b", "whenMatched", "merge"))})), kResultTooLarge);
  const Document adds = bson::doc("$project", bson::doc("x", deep(190)));
  EXPECT_EQ(codeOf(from("a", {adds, bson::doc("$merge", bson::doc("into", "b", "whenMatched", "merge"))})), kOverflow);
  EXPECT_EQ(codeOf(from("a", {adds, bson::doc("$merge", bson::doc("into", "new"))})), kOverflow);
  EXPECT_EQ(codeOf(from("a", {adds, bson::doc("$out", "new")})), kOverflow);
  EXPECT_EQ(codeOf(bson::doc("find", "b", "projection", bson::doc("_id", 1))), 0);
}

TEST_F(HostileCommandsTest, AnUpdateIsRefusedBeforeItsResultIsMade) {
  const Document document = bson::doc("_id", 1, "a", numbers(500'000));
  ASSERT_TRUE(server.run(bson::doc("insert", "c", "documents", std::vector{document}))["ok"].truthy());
  const Document update =
      bson::doc("q", bson::doc("_id", 1), "u", bson::doc("$set", bson::doc("a.$[]", std::string(8 << 20, 'x'))));
  EXPECT_EQ(codeOf(bson::doc("update", "c", "updates", std::vector{update})), kResultTooLarge);
}

TEST_F(HostileCommandsTest, FieldsOfOneNameTakeAValueOnce) {
  const Document setField =
      bson::doc("$setField", bson::doc("field", "a", "input", bson::doc("$literal", sameNames("a", 500'000)), "value",
                                       std::string(8 << 20, 'x')));
  EXPECT_EQ(
      codeOfPipeline({documents(Document()), bson::doc("$project", bson::doc("x", bson::doc("$type", setField)))}), 0);
}

TEST_F(HostileCommandsTest, AValueSetInEachElementIsCharged) {
  const Document many = bson::doc("a", numbers(300'000), "v", std::string(1 << 20, 'x'));
  const Document value = bson::doc("value", "$v");
  EXPECT_EQ(codeOfPipeline({documents(many), bson::doc("$fill", bson::doc("output", bson::doc("a.b", value)))}),
            kExceeded);
}

TEST_F(HostileCommandsTest, ABucketsValueIsEvaluatedOnce) {
  Builder bucket;
  bucket.openDocument("$bucket");
  bucket.append("groupBy", bson::doc("$strLenBytes", bson::doc("$literal", std::string(4 << 20, 'x'))));
  bucket.append("boundaries", numbers(200'000)).append("default", "more").close();
  EXPECT_EQ(codeOfPipeline({documents(Document()), bucket.finish()}), 0);
}

TEST_F(HostileCommandsTest, PrefixesOfProjectionsAreCharged) {
  const std::string name(1 << 20, 'x');
  const Document spec = bson::doc(name, [] {
    Builder b;
    for (int i = 0; i < 5000; ++i) b.append("f" + std::to_string(i), 1);
    return b.finish();
  }());
  EXPECT_EQ(codeOf(bson::doc("find", "c", "projection", spec)), kExceeded);
  EXPECT_EQ(codeOfPipeline({documents(Document()), bson::doc("$project", spec)}), kExceeded);
  EXPECT_EQ(codeOfPipeline({documents(Document()), bson::doc("$addFields", spec)}), kExceeded);
}

TEST_F(HostileCommandsTest, DetailsOfManyFailuresHaveALimitAndKeepTheirText) {
  ASSERT_TRUE(succeeds(R"({"create": "v", "validator": {"a": {"$gt": 5}}})"));
  const std::vector<Document> invalid(40, bson::doc("a", std::string(100'000, 'x')));
  const Document reply = server.run(bson::doc("insert", "v", "ordered", false, "documents", invalid));
  const auto errors = reply["writeErrors"].asArray();
  ASSERT_EQ(errors.count(), 40);
  for (const bson::Element& e : errors) EXPECT_FALSE(e.asDocument()["errmsg"].asString().empty());
  EXPECT_TRUE(errors.first().asDocument().has("errInfo"));
  EXPECT_LT(reply.view().size(), 2u << 20);
}

TEST_F(HostileCommandsTest, AnswersAboutUsersAndRolesHaveALimit) {
  ASSERT_TRUE(succeeds(R"({"createUser": "u", "pwd": "p", "roles": []})", "admin"));
  std::vector<Document> roles;
  for (int i = 0; i < 100'000; ++i) roles.push_back(bson::doc("role", "readWrite", "db", "d" + std::to_string(i)));
  EXPECT_EQ(codeOf(bson::doc("rolesInfo", roles, "showPrivileges", true), "admin"), kTooLarge);
  const Document users = server.run(bson::doc("usersInfo", repeated("u", 100'000)), "admin");
  EXPECT_EQ(users["users"].asArray().count(), 1);
}

TEST_F(HostileCommandsTest, AUserHasSoManyRolesAndEachMechanismOnce) {
  std::vector<Document> roles;
  for (int i = 0; i < 1001; ++i) roles.push_back(bson::doc("role", "read", "db", "d" + std::to_string(i)));
  EXPECT_EQ(codeOf(bson::doc("createUser", "u", "pwd", "p", "roles", roles), "admin"), 2);
  roles.pop_back();
  EXPECT_EQ(codeOf(bson::doc("createUser", "u", "pwd", "p", "roles", roles), "admin"), 0);
  EXPECT_EQ(codeOf(bson::doc("grantRolesToUser", "u", "roles", std::vector{bson::doc("role", "read", "db", "more")}),
                   "admin"),
            2);
  EXPECT_EQ(codeOf(bson::doc("createUser", "v", "pwd", "p", "roles", std::vector<Document>(), "mechanisms",
                             repeated("SCRAM-SHA-256", 1000)),
                   "admin"),
            2);
}

/// A value of a type that the argument takes.
void appendGiven(Builder& body, const Argument& argument) {
  if (argument.types & kStringArg) body.append(argument.name, "a.b");
  else if (argument.types & kNumberArg) body.append(argument.name, 1);
  else if (argument.types & kBoolArg) body.append(argument.name, true);
  else if (argument.types & kArrayArg) body.append(argument.name, bson::array());
  else if (argument.types & kDocumentArg) body.append(argument.name, Document());
  else if (argument.types & kObjectIdArg) body.append(argument.name, bson::ObjectId());
  else if (argument.types & kTimestampArg) body.append(argument.name, bson::Timestamp());
  else body.append(argument.name, bson::Binary{bson::kBinaryUuid, "0123456789abcdef"});
}

TEST_F(HostileCommandsTest, NoNullHidesTheArgumentBehindIt) {
  constexpr int64_t kDuplicate = 40413;
  size_t attacked = 0;
  for (const Command* command : server.server->commands.all()) {
    for (const Argument& argument : command->arguments) {
      if (!argument.isRequired || argument.types == kAnyType) continue;
      Builder body;
      body.append(command->name, "c").append(argument.name, bson::Null{});
      appendGiven(body, argument);
      EXPECT_EQ(codeOf(body.finish(), command->adminOnly ? "admin" : "test"), kDuplicate)
          << command->name << "." << argument.name;
      ++attacked;
    }
  }
  EXPECT_GT(attacked, 10u);

  const auto bulk = [&](const Document& operation, const Document& ns) {
    return codeOf(bson::doc("bulkWrite", 1, "ops", std::vector{operation}, "nsInfo", std::vector{ns}), "admin");
  };
  const bson::Null null;
  const Document insert = bson::doc("insert", 0, "document", Document()), ns = bson::doc("ns", "test.c");
  EXPECT_EQ(bulk(insert, bson::doc("ns", null, "ns", "test.c")), kDuplicate);
  EXPECT_EQ(bulk(bson::doc("insert", 0, "document", null, "document", Document()), ns), kDuplicate);
  EXPECT_EQ(bulk(bson::doc("update", 0, "filter", null, "filter", Document(), "updateMods", Document()), ns),
            kDuplicate);
  EXPECT_EQ(bulk(bson::doc("delete", 0, "filter", null, "filter", Document()), ns), kDuplicate);
  EXPECT_EQ(codeOf(bson::doc("update", "c", "updates",
                             std::vector{bson::doc("q", null, "q", Document(), "u", bson::doc("a", 1))})),
            kDuplicate);
  EXPECT_EQ(codeOf(bson::doc("delete", "c", "deletes", std::vector{bson::doc("q", null, "q", Document(), "limit", 1)})),
            kDuplicate);
  EXPECT_EQ(bulk(insert, ns), 0);
}

TEST_F(HostileCommandsTest, ABulkWriteNamesOnlySoManyNamespaces) {
  const std::vector<Document> operations(2, bson::doc("insert", 0, "document", Document()));
  std::vector<Document> namespaces(100'001, bson::doc("ns", "test.c"));
  EXPECT_EQ(codeOf(bson::doc("bulkWrite", 1, "ops", operations, "nsInfo", namespaces), "admin"), 16);
  namespaces.pop_back();
  EXPECT_EQ(codeOf(bson::doc("bulkWrite", 1, "ops", operations, "nsInfo", namespaces), "admin"), 0);
}

TEST_F(HostileCommandsTest, ACommandCreatesOnlySoManyIndexesWithFiltersOfALimitedSize) {
  const auto create = [&](const std::vector<Document>& indexes) {
    return codeOf(bson::doc("createIndexes", "c", "indexes", indexes));
  };
  const Document one = bson::doc("key", bson::doc("a", 1), "name", "a");
  EXPECT_EQ(create(std::vector<Document>(1001, one)), 2);
  EXPECT_EQ(create(std::vector<Document>(1000, one)), 68) << "so many are looked at, and found to be the same";
  const auto partial = [&](size_t bytes) {
    return bson::doc("key", bson::doc("b", 1), "name", "b", "partialFilterExpression",
                     bson::doc("x", std::string(bytes, 'x')));
  };
  EXPECT_EQ(create({partial(70'000)}), 67);
  EXPECT_EQ(create({partial(60'000)}), 0);
}

TEST_F(HostileCommandsTest, VeryManyPipelinesOfAFacetAreRefused) {
  const auto facet = [&](int count) {
    Builder b;
    b.openDocument("$facet");
    for (int i = 0; i < count; ++i) b.openArray("f" + std::to_string(i)).close();
    return codeOfPipeline({documents(Document()), b.close().finish()});
  };
  EXPECT_EQ(facet(1001), 9);
  EXPECT_EQ(facet(1000), 0);
}

TEST_F(HostileCommandsTest, ConditionsOfAFilterAreCharged) {
  Builder b;
  b.openArray("$or");
  for (int i = 0; i < 500'000; ++i) b.push(bson::doc("a", i));
  const Document filter = b.close().finish();
  fill("c", 1);
  EXPECT_EQ(codeOf(bson::doc("find", "c", "filter", filter)), kExceeded);
  EXPECT_EQ(codeOf(bson::doc("delete", "c", "deletes", std::vector{bson::doc("q", filter, "limit", 0)})), kExceeded);
  EXPECT_EQ(codeOfPipeline({documents(Document()), bson::doc("$match", filter)}), kExceeded);
  EXPECT_EQ(codeOf(bson::doc("collMod", "c", "validator", filter)), kExceeded);
}

TEST_F(HostileCommandsTest, AnIndexFilterNamesNoMoreIndexesThanACollectionHas) {
  fill("c", 1);
  EXPECT_EQ(codeOf(bson::doc("planCacheSetFilter", "c", "query", Document(), "indexes", repeated("x", 65))), 2);
  EXPECT_EQ(codeOf(bson::doc("planCacheSetFilter", "c", "query", Document(), "indexes", repeated("x", 64))), 0);
}

}  // namespace troupe::commands
