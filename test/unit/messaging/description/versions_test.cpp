#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "messaging/description/bson_archive.hpp"

/// How documents of other versions are read, and what becomes of fields that only others know.
namespace troupe::machines {
namespace {

/// Version 1 had `host`, version 2 calls it `node`, version 3 counts terms.
struct Member {
  int32_t id = 0;
  std::string node;
  int64_t term = 0;
};

template <class Archive>
void serialize(Archive& archive, Member& member, const unsigned version) {
  using boost::serialization::make_nvp;
  archive& make_nvp("id", member.id);
  archive& make_nvp(version < 2 ? "host" : "node", member.node);
  if (version >= 3) archive& make_nvp("term", member.term);
  else member.term = -1;
}

struct Group {
  std::string id;
  std::vector<Member> members;
  std::optional<Member> leader;
  std::map<std::string, Member> byPlace;
};

struct Plain {
  std::string text;
};
struct Other {};
using Either = std::variant<Plain, Other>;
struct Holder {
  Either either;
  std::vector<Plain> plains;
};

/// A replica set's configuration has a version of its own.
struct Config {
  int32_t version = 0;
};

}  // namespace
}  // namespace troupe::machines

TROUPE_DESCRIBE_VERSION(troupe::machines::Member, 3)
TROUPE_DESCRIBE(troupe::machines::Group, 1, id, members, leader, byPlace)
TROUPE_DESCRIBE(troupe::machines::Plain, 0, text)
TROUPE_DESCRIBE(troupe::machines::Other, 0)
TROUPE_DESCRIBE(troupe::machines::Holder, 0, either, plains)
TROUPE_DESCRIBE(troupe::machines::Config, 0, version)

namespace troupe::machines {
namespace {

using bson::doc;

bson::Document parse(std::string_view json) { return *bson::fromJson(json); }
/// Loads and saves a document.
template <class T, class Change>
bson::Document again(const bson::Document& document, Change change) {
  auto loaded = loadBson<T>(document);
  EXPECT_TRUE(loaded.isOK()) << loaded.status().toString();
  change(loaded->value);
  return toBson(loaded->value, loaded->unknown);
}

TEST(Versions, OlderDocumentsAreUpgraded) {
  const auto first = fromBson<Member>(doc("_id", 7, "version", 1, "host", "a:1"));
  ASSERT_TRUE(first.isOK()) << first.status().toString();
  EXPECT_EQ(first->node, "a:1");
  EXPECT_EQ(first->term, -1);
  const auto second = fromBson<Member>(doc("_id", 7, "version", 2, "node", "b:1"));
  ASSERT_TRUE(second.isOK());
  EXPECT_EQ(second->node, "b:1");
  EXPECT_EQ(second->term, -1);
}

TEST(Versions, WritingTakesTheNewest) {
  const auto document = again<Member>(doc("_id", 7, "version", 1, "host", "a:1"), [](Member& m) { m.term = 4; });
  EXPECT_EQ(document, doc("_id", 7, "version", 3, "node", "a:1", "term", int64_t{4}));
}

TEST(Versions, ADocumentWithoutVersionIsOfVersionZero) {
  const auto member = fromBson<Member>(doc("_id", 7, "host", "a:1"));
  ASSERT_TRUE(member.isOK());
  EXPECT_EQ(member->node, "a:1");
}

TEST(Versions, NewerDocumentsAreRefusedByBothNumbers) {
  EXPECT_EQ(fromBson<Member>(doc("_id", 7, "version", 4)).status().toString(),
            "UnsupportedFormat: Member: Member of version 4, newer than version 3, the newest that this node knows");
  const auto group = doc("_id", "g", "version", 1, "members", bson::array(doc("_id", 1, "version", 9)));
  EXPECT_EQ(
      fromBson<Group>(group).status().toString(),
      "UnsupportedFormat: Group.members.0: Member of version 9, newer than version 3, the newest that this node knows");
}

TEST(Versions, NewerDocumentsOfATypeWithoutVersionsAreRefusedToo) {
  const std::string refused =
      "UnsupportedFormat: Plain: Plain of version 2, newer than version 0, the newest that this node knows";
  EXPECT_EQ(fromBson<Plain>(doc("version", 2, "text", "t")).status().toString(), refused);
  EXPECT_EQ(fromBson<Plain>(doc("version", 2, "words", "t")).status().toString(), refused);
}

TEST(Versions, ATypeWithoutVersionsMayHaveAFieldOfThatName) {
  EXPECT_EQ(toBson(Config{5}), doc("version", 5));
  EXPECT_EQ(fromBson<Config>(doc("version", 5))->version, 5);
}

TEST(Versions, AVersionIsANumber) {
  EXPECT_EQ(fromBson<Member>(doc("_id", 7, "version", "3")).status().toString(),
            "TypeMismatch: Member.version: expected a number, found string");
  EXPECT_EQ(fromBson<Member>(doc("_id", 7, "version", -3)).status().toString(),
            "BadValue: Member.version: versions are not negative");
}

TEST(UnknownFields, AreKeptAtTheRoot) {
  const auto document = doc("_id", 7, "version", 3, "node", "a", "term", int64_t{1}, "later", doc("x", 1), "more", 2);
  EXPECT_EQ(again<Member>(document, [](Member&) {}), document);
}

TEST(UnknownFields, AreKeptInNestedStructs) {
  const auto document = parse(R"({"_id": "g", "version": 1, "members": [],
      "leader": {"_id": 1, "version": 3, "node": "a", "term": {"$numberLong": "1"}, "later": [1, 2]},
      "byPlace": {"north": {"_id": 2, "version": 3, "node": "b", "term": {"$numberLong": "1"}, "later": "x"}},
      "last": null})");
  EXPECT_EQ(again<Group>(document, [](Group&) {}), document);
  const auto changed = again<Group>(document, [](Group& g) {
    g.leader.reset();
    g.byPlace["south"] = g.byPlace["north"];
  });
  EXPECT_FALSE(changed["leader"].ok());
  EXPECT_EQ(changed.view().at("byPlace.north.later").asString(), "x");
  EXPECT_FALSE(changed.view().at("byPlace.south.later").ok());
}

TEST(UnknownFields, FollowTheElementOfTheSameIdInAnArray) {
  const auto document = parse(R"({"_id": "g", "version": 1, "members": [
      {"_id": 1, "version": 3, "node": "a", "term": {"$numberLong": "1"}, "later": "one"},
      {"_id": 2, "version": 3, "node": "b", "term": {"$numberLong": "1"}},
      {"_id": 3, "version": 3, "node": "c", "term": {"$numberLong": "1"}, "later": "three"}],
      "byPlace": {}})");
  EXPECT_EQ(again<Group>(document, [](Group&) {}), document);
  const auto changed = again<Group>(document, [](Group& g) { g.members.erase(g.members.begin()); });
  EXPECT_FALSE(changed.view().at("members.0.later").ok());
  EXPECT_EQ(changed.view().at("members.1.later").asString(), "three");
}

TEST(UnknownFields, StayAtTheirPlaceInAnArrayWithoutIdsWhileItKeepsItsLength) {
  const auto document =
      parse(R"({"either": {"type": "Other"}, "plains": [{"text": "a", "later": 0}, {"text": "b", "later": 1}]})");
  EXPECT_EQ(again<Holder>(document, [](Holder&) {}), document);
  const auto changed = again<Holder>(document, [](Holder& h) { h.plains.erase(h.plains.begin()); });
  EXPECT_EQ(changed, parse(R"({"either": {"type": "Other"}, "plains": [{"text": "b"}]})"));
}

TEST(UnknownFields, StayWithTheTypeThatAVariantHeld) {
  const auto document = parse(R"({"either": {"type": "Plain", "text": "a", "later": 1}, "plains": []})");
  EXPECT_EQ(again<Holder>(document, [](Holder&) {}), document);
  const auto changed = again<Holder>(document, [](Holder& h) { h.either = Other{}; });
  EXPECT_EQ(changed, parse(R"({"either": {"type": "Other"}, "plains": []})"));
}

TEST(UnknownFields, GiveWayToDescribedOnes) {
  auto loaded = loadBson<Member>(doc("_id", 7, "version", 1, "host", "a", "term", "of office"));
  ASSERT_TRUE(loaded.isOK());
  EXPECT_EQ(toBson(loaded->value, loaded->unknown), doc("_id", 7, "version", 3, "node", "a", "term", int64_t{-1}));
}

TEST(UnknownFields, ArePassedOverWhenNobodyAsksForThem) {
  const auto member = fromBson<Member>(doc("_id", 7, "version", 3, "node", "a", "term", 1, "later", 1));
  ASSERT_TRUE(member.isOK());
  EXPECT_EQ(toBson(*member), doc("_id", 7, "version", 3, "node", "a", "term", int64_t{1}));
}

}  // namespace
}  // namespace troupe::machines
