#include "actors/server/request.hpp"

#include "actors/server/command.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

class RequestTest : public CommandTest {
 protected:
  /// `use` sees a request whose command is `json`.
  template <class Use>
  auto given(std::string_view json, Use use) {
    Exchange exchange(wire::buildRequest(1, "test", parse(json)), *server.server, *server.client, server.time->now());
    return use(exchange.request);
  }
};

TEST_F(RequestTest, NullArgumentsAreAbsent) {
  given(R"({"find": "c", "filter": null, "limit": 3})", [](const Request& request) {
    EXPECT_FALSE(request.arg("filter"));
    EXPECT_EQ(request.number("limit"), 3);
    EXPECT_EQ(request.number("skip", 9), 9);
  });
}

TEST_F(RequestTest, ChecksTheNameOfTheCollection) {
  const auto name = [&](std::string_view json) {
    return given(json, [](Request& request) {
      request.command = request.server().commands.find("find");
      return request.target().status();
    });
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

}  // namespace troupe::server
