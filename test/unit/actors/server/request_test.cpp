#include "actors/server/request.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {

class RequestTest : public CommandTest {
 protected:
  /// `use` sees a request whose command is `json`.
  template <class Use>
  auto given(std::string_view json, Use use) {
    Exchange exchange(wire::buildRequest(1, "test", parse(json)), *server.server, *server.client, server.time->now());
    return use(exchange.request);
  }
  StatusWith<WriteConcern> concern(std::string_view json) {
    return given(R"({"insert": "c", "writeConcern": )" + std::string(json) + "}",
                 [](const Request& request) { return request.writeConcern(); });
  }
};

TEST_F(RequestTest, WithoutAWriteConcernOneMemberIsEnough) {
  const auto plain = concern("{}");
  ASSERT_TRUE(plain.isOK());
  EXPECT_EQ(plain->w, 1);
  EXPECT_FALSE(plain->journaled || plain->majority || plain->timeout);
}

TEST_F(RequestTest, ReadsAWriteConcern) {
  const auto given = concern(R"({"w": "majority", "j": true, "wtimeout": 250})");
  ASSERT_TRUE(given.isOK()) << given.status().toString();
  EXPECT_TRUE(given->majority);
  EXPECT_TRUE(given->journaled);
  EXPECT_EQ(given->timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(concern(R"({"w": 0})")->w, 0);
  EXPECT_TRUE(concern(R"({"fsync": 1})")->journaled);
}

TEST_F(RequestTest, RefusesAWriteConcernItCannotSatisfy) {
  EXPECT_EQ(concern(R"({"w": 2})").status(), ErrorCode::kBadValue);
  EXPECT_EQ(concern(R"({"w": "elsewhere"})").status(), ErrorCode::kUnknownReplWriteConcern);
}

TEST_F(RequestTest, RefusesAMalformedWriteConcern) {
  for (const char* bad :
       {R"({"w": -1})", R"({"w": 51})", R"({"w": {}})", R"({"j": "yes"})", R"({"wtimeout": "1"})", R"({"x": 1})"})
    EXPECT_EQ(concern(bad).status(), ErrorCode::kFailedToParse) << bad;
}

TEST_F(RequestTest, NullArgumentsAreAbsent) {
  given(R"({"find": "c", "filter": null, "limit": 3})", [](const Request& request) {
    EXPECT_FALSE(request.arg("filter"));
    EXPECT_EQ(request.number("limit"), 3);
    EXPECT_EQ(request.number("skip", 9), 9);
  });
}

TEST_F(RequestTest, ChecksTheNameOfTheCollection) {
  const auto name = [&](std::string_view json) {
    return given(json, [](const Request& request) { return request.collection().status(); });
  };
  EXPECT_TRUE(name(R"({"find": "c"})").isOK());
  for (const char* bad : {R"({"find": 1})", R"({"find": ""})", R"({"find": ".a"})"})
    EXPECT_EQ(name(bad), ErrorCode::kInvalidNamespace) << bad;
}

TEST_F(RequestTest, TakesDocumentsFromTheBodyOrFromASection) {
  given(R"({"insert": "c", "documents": [{"a": 1}, {"a": 2}]})",
        [](const Request& request) { EXPECT_EQ(request.documents("documents")->size(), 2u); });
  const auto a = R"({"a": 1})"_json;
  const std::string three = a.bytes() + a.bytes() + a.bytes();
  const wire::DocumentSequence section{"documents", {three, 3}};
  Exchange exchange(wire::buildRequest(1, "test", R"({"insert": "c"})"_json, {&section, 1}), *server.server,
                    *server.client, server.time->now());
  EXPECT_EQ(exchange.request.documents("documents")->size(), 3u);
}

TEST_F(RequestTest, RefusesElementsThatAreNoDocuments) {
  given(R"({"insert": "c", "documents": [{"a": 1}, 2]})", [](const Request& request) {
    const Status status = request.documents("documents").status();
    EXPECT_EQ(status, ErrorCode::kTypeMismatch);
    EXPECT_NE(status.reason().find("insert.documents.1"), std::string::npos) << status.reason();
  });
}

}  // namespace troupe::commands
