#include "supervisors/admin/actor_json.hpp"

#include <nlohmann/json.hpp>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

using bson::operator""_json;

ActorRow rowAt(std::string path) {
  ActorRow row;
  row.path = std::move(path);
  return row;
}

TEST(ActorJson, ARowHasTheFieldsOfTheWireInTheSameOrder) {
  const Json row = toJson(rowAt("/node"));
  std::vector<std::string> json, wire;
  for (const auto& item : row.items()) json.push_back(item.key());
  const bson::Document document = rowAt("/node").toBson();
  for (const bson::Element& e : document.view()) wire.emplace_back(e.name());
  EXPECT_EQ(json, wire);
  for (const auto& name : json) EXPECT_TRUE(isRowField(name)) << name;
  EXPECT_FALSE(isRowField("colour"));
}

TEST(ActorJson, WritesTimesAsIso8601) {
  EXPECT_EQ(isoTime(WallTime(std::chrono::milliseconds(1704067200123))), "2024-01-01T00:00:00.123Z");
  EXPECT_EQ(isoTime(WallTime(std::chrono::milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

TEST(ActorJson, NestsRowsBelowTheirPaths) {
  const Json tree = toTree(
      {rowAt("/node"), rowAt("/node/front"), rowAt("/node/front/listener"), rowAt("/node/storage"), rowAt("/other")});
  ASSERT_EQ(tree.size(), 2U);
  EXPECT_EQ(tree[0]["name"], "node");
  ASSERT_EQ(tree[0]["children"].size(), 2U);
  EXPECT_EQ(tree[0]["children"][0]["children"][0]["name"], "listener");
  EXPECT_EQ(tree[1]["path"], "/other");
}

TEST(ActorJson, HangsARowWithoutItsParentBelowTheNearestAncestor) {
  const Json tree = toTree({rowAt("/node"), rowAt("/node/a/b")});
  ASSERT_EQ(tree[0]["children"].size(), 1U);
  EXPECT_EQ(tree[0]["children"][0]["name"], "a/b");
}

TEST(ActorJson, KeepsTheOrderAmongSiblings) {
  const Json tree = toTree({rowAt("/node/z"), rowAt("/node/a"), rowAt("/node")});
  EXPECT_EQ(tree[0]["children"][0]["name"], "z");
}

TEST(ActorJson, ShowsMessagesNewestFirstAndOutsidersWithoutPeer) {
  ActorDetails details;
  details.row = rowAt("/node/a");
  details.state = R"({"n": 1})"_json;
  details.received = {{"Ping", Address("n1", "/node/b"), WallTime()}, {"Stop", Address(), WallTime()}};
  const Json json = toJson(details, {});
  EXPECT_EQ(json["state"]["n"], 1);
  EXPECT_EQ(json["received"][0]["message"], "Stop");
  EXPECT_TRUE(json["received"][0]["peer"].is_null());
  EXPECT_EQ(json["received"][1]["peer"], "/node/b");
  EXPECT_TRUE(json["childSpecification"].is_null());
  EXPECT_TRUE(json["machine"].is_null());
}

TEST(ActorJson, ShowsThePhasesAndTheTableOfAMachine) {
  const machines::MachineOutline lamp{
      "lamp",
      {{"dark", "nobody needs it"}, {"lit", "somebody reads"}},
      {{"dark", "Switch", {"lit"}}, {nullptr, "Broke", {nullptr}}, {"lit", "Dusted", {}}}};
  ActorDetails details;
  details.row = rowAt("/node/lamp");
  details.machine = &lamp;
  const Json machine = toJson(details, {})["machine"];
  EXPECT_EQ(machine["name"], "lamp");
  EXPECT_EQ(machine["phases"], Json::parse(R"([{"name": "dark", "meaning": "nobody needs it"},
                                               {"name": "lit", "meaning": "somebody reads"}])"));
  EXPECT_EQ(machine["transitions"], Json::parse(R"([{"from": "dark", "event": "Switch", "to": ["lit"]},
                                                    {"from": null, "event": "Broke", "to": [null]},
                                                    {"from": "lit", "event": "Dusted", "to": []}])"));
}

}  // namespace
}  // namespace troupe::supervisors
