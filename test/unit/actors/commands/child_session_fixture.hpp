#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/server/session_catalog.hpp"
#include "storage/sessions/session_record.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
using namespace server;

/// A primary, to which another server sends commands in a session of a client and in children of it.
class ChildSessionTest : public CommandTest {
 protected:
  static constexpr int64_t kInvalidOptions = 72, kTooOld = 225, kUnknownField = 40415;
  static inline const std::string kUser = std::string(storage::SessionId::kUidBytes, 'u');

  ChildSessionTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    AuthenticatedUser system;
    system.name = "__system";
    system.database = "local";
    system.internal = true;
    peer->users.push_back(system);
    peer->usersChanged();
  }

  static bson::Document lsid(std::optional<char> child = {}, std::optional<int64_t> number = {}) {
    storage::SessionId session;
    session.id.fill('s');
    std::ranges::copy(kUser, session.uid.begin());
    if (child) session.txnUUID.emplace().fill(*child);
    session.txnNumber = number;
    return session.toDocument();
  }
  bson::Document numbered(std::string_view command, const bson::Document& session, int64_t number) const {
    return with(command, bson::doc("lsid", session, "txnNumber", number));
  }
  bson::Document send(std::string_view command, const bson::Document& session, int64_t number) {
    return server.run(numbered(command, session, number), "test", peer);
  }
  int64_t codeOf(std::string_view command, const bson::Document& session, int64_t number) {
    return send(command, session, number)["code"].toInt64();
  }
  std::shared_ptr<Exchange> begin(std::string_view command, const bson::Document& session, int64_t number) {
    others.push_back(server.connect());
    others.back()->users = peer->users;
    others.back()->usersChanged();
    return server.begin(numbered(command, session, number), "test", others.back());
  }
  void set(std::string_view parameter, int64_t value) {
    ASSERT_TRUE(server.run(bson::doc("setParameter", 1, parameter, value), "admin")["ok"].truthy());
  }
  /// The `_id`s of a collection of the database config.
  std::vector<bson::Document> ids(std::string_view collection) {
    const bson::Document reply = server.run(bson::doc("find", collection, "sort", bson::doc("_id", 1)), "config");
    std::vector<bson::Document> found;
    for (const bson::Element& e : reply.view().at("cursor.firstBatch").asArray())
      found.emplace_back(e.asDocument()["_id"].asDocument());
    return found;
  }
  std::vector<bson::Document> records() { return ids("transactions"); }
  std::vector<bson::Document> images() { return ids("image_collection"); }
  bson::Document reaper() {
    const Address at = server.node.address(kChildSessionReaperPath);
    auto found = server.node.wait(server.node.inspect(std::string(at.path()), 1s));
    return found ? found->state : bson::Document();
  }

  const std::shared_ptr<Client> peer = server.connect();
  std::vector<std::shared_ptr<Client>> others;
};

}  // namespace troupe::commands
