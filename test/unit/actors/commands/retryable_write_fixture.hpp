#pragma once
#include <string>
#include <string_view>

#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
using namespace server;

inline constexpr int64_t kInvalidOptions = 72, kIllegalOperation = 20, kTooOld = 225, kIncompleteHistory = 217,
                         kNotRetryable = 50768, kAnotherStatement = 40606, kNotSupported = 115, kUnauthorized = 13,
                         kInvalidLength = 16, kUnknownField = 40415, kUuidMismatch = 361;

inline constexpr const char* kSession =
    R"("lsid": {"id": {"$binary": {"base64": "y8oFy8jlSZqQT3Dl9CUG7Q==", "subType": "04"}}})";

/// A command with the fields of a session.
inline std::string numbered(std::string_view command, int64_t number, const char* session = kSession) {
  std::string text(command.substr(0, command.rfind('}')));
  return text + ", " + session + ", \"txnNumber\": {\"$numberLong\": \"" + std::to_string(number) + "\"}}";
}

/// A primary, to which commands are sent under numbers of one session.
class RetryableWriteTest : public CommandTest {
 protected:
  RetryableWriteTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) { becomePrimary(server); }

  bson::Document send(std::string_view command, int64_t number, std::string_view db = "test") {
    return run(numbered(command, number).c_str(), db);
  }
  int64_t codeOf(std::string_view command, int64_t number, std::string_view db = "test") {
    return send(command, number, db)["code"].toInt64();
  }
  /// What a client compares: the reply but for times and the mark of a retry.
  static std::string shown(const bson::Document& reply) {
    bson::Builder rest;
    for (const bson::Element& e : reply.view())
      if (e.name() != "$clusterTime" && e.name() != "operationTime" && !e.name().starts_with("retried"))
        rest.append(e.name(), e);
    return bson::toRelaxedJson(rest.finish());
  }
  static std::string textOf(const bson::Element& list) {
    std::string text;
    for (const bson::Element& e : list.asArray())
      text += (text.empty() ? "" : ", ") + (e.isNumber() ? std::to_string(e.toInt64()) : std::string(e.toStringOr()));
    return text;
  }
  static std::string retried(const bson::Document& reply) {
    if (const bson::Element only = reply["retriedStmtId"]) return std::to_string(only.toInt64());
    const bson::Element ids = reply["retriedStmtIds"];
    return ids ? textOf(ids) : "none";
  }
  /// Sends it twice and looks at both replies.
  void expectOnce(std::string_view command, int64_t number, const char* ids = "0") {
    const bson::Document first = send(command, number), second = send(command, number);
    EXPECT_TRUE(first["ok"].truthy()) << bson::toRelaxedJson(first);
    EXPECT_EQ(retried(first), "none");
    EXPECT_EQ(retried(second), ids);
    EXPECT_EQ(shown(second), shown(first));
  }
  /// The next numbered write meets the fail point `onPrimaryTransactionalWrite`.
  void armForNextWrite(const char* data) {
    const std::string command =
        std::string(R"({"configureFailPoint": "onPrimaryTransactionalWrite", "mode": {"times": 1}, "data": )") + data +
        "}";
    ASSERT_TRUE(succeeds(command, "admin"));
  }
  static std::string labels(const bson::Document& reply) {
    const bson::Element found = reply["errorLabels"];
    return found ? textOf(found) : "none";
  }
};

}  // namespace troupe::commands
