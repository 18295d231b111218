#include "messaging/description/bson_archive.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "messaging/bson/validate.hpp"
#include "messaging/description/fingerprint.hpp"
#include "test/unit/messaging/description/sample.hpp"

namespace troupe::machines {
namespace {

using namespace sample;
using bson::doc;

/// The Extended JSON of a value's document.
template <class T>
std::string json(const T& value) {
  return bson::toRelaxedJson(toBson(value));
}

template <class T>
std::string failure(const bson::Document& document) {
  const auto read = fromBson<T>(document);
  return read.isOK() ? "OK" : read.status().toString();
}

RC_GTEST_PROP(BsonArchive, ReadsWhatItWrote, ()) {
  const Everything value = *arbitraryEverything();
  const bson::Document document = toBson(value);
  const auto size = bson::validate(document.bytes());
  RC_ASSERT(size.isOK() && static_cast<size_t>(*size) == document.bytes().size());
  const auto read = loadBson<Everything>(document);
  if (!read.isOK()) RC_FAIL(read.status().toString());
  RC_ASSERT(sameValue(read->value, value));
  RC_ASSERT(read->unknown.empty());
  RC_ASSERT(toBson(read->value) == document);
}

TEST(BsonArchive, WritesFieldsByNameInOrder) { EXPECT_EQ(json(Point{1, -2}), R"({ "x" : 1, "y" : -2 })"); }

TEST(BsonArchive, WritesAMessageWithoutFieldsAsAnEmptyDocument) {
  EXPECT_EQ(json(Drained{}), "{ }");
  EXPECT_TRUE(fromBson<Drained>(bson::Document()).isOK());
}

TEST(BsonArchive, WritesVariantsWithTheTypeTheyHold) {
  EXPECT_EQ(json(Event(Point{1, 2})), R"({ "type" : "Point", "x" : 1, "y" : 2 })");
  EXPECT_EQ(json(Event(Drained{})), R"({ "type" : "Drained" })");
  EXPECT_EQ(
      json(Event(Refused{Status(ErrorCode::kHostUnreachable, "no route"), {}})),
      R"({ "type" : "Refused", "version" : 1, "why" : { "code" : 6, "codeName" : "HostUnreachable", "errmsg" : "no route" } })");
}

TEST(BsonArchive, WritesOneReadableFieldForEachKind) {
  Everything value;
  value.text = "t";
  value.bytes = {1, 2};
  value.colour = Colour::kDarkBlue;
  value.points = {{1, 2}};
  value.names = {"b", "a"};
  value.byName["n"] = {3, 4};
  value.palettes["p"] = {Colour::kGreen};
  value.numbers.patience = std::chrono::milliseconds(250);
  value.numbers.huge = ~uint64_t{0};
  value.maybeText = "";
  const bson::Document document = toBson(value);
  EXPECT_EQ(document.view().first().name(), "_id");
  EXPECT_EQ((++document.view().begin())->name(), "version");
  EXPECT_EQ(document["version"].asInt32(), 3);
  EXPECT_EQ(document["colour"].asString(), "darkBlue");
  EXPECT_EQ(document["bytes"].asBinary().bytes, "\x01\x02");
  EXPECT_EQ(document.view().at("points.0.y").asInt64(), 2);
  EXPECT_EQ(document.view().at("names.1").asString(), "b");
  EXPECT_EQ(document.view().at("byName.n.x").asInt32(), 3);
  EXPECT_EQ(document.view().at("palettes.p.0").asString(), "green");
  EXPECT_EQ(document.view().at("numbers.patience").asInt64(), 250);
  EXPECT_TRUE(document.view().at("numbers.count").is(bson::Type::kInt64));
  EXPECT_TRUE(document.view().at("numbers.small").is(bson::Type::kInt32));
  EXPECT_TRUE(document.view().at("numbers.huge").is(bson::Type::kDecimal128));
  EXPECT_EQ(document["maybeText"].asString(), "");
  EXPECT_FALSE(document["maybeNumber"].ok());
  EXPECT_FALSE(document["any"].ok());
  EXPECT_TRUE(document["_id"].is(bson::Type::kBinary));
}

TEST(BsonArchive, TakesNumbersAsPeopleWriteThem) {
  const auto point = fromBson<Point>(doc("x", 7.0, "y", 8));
  ASSERT_TRUE(point.isOK());
  EXPECT_EQ(point->x, 7);
  EXPECT_EQ(point->y, 8);
}

TEST(BsonArchive, TakesNullForAnEmptyOptional) {
  const auto refused = fromBson<Refused>(doc("why", doc("code", 0), "where", bson::Null{}));
  ASSERT_TRUE(refused.isOK());
  EXPECT_FALSE(refused->where.has_value());
}

TEST(BsonArchive, WritesNoKeyThatCannotNameAField) {
  Everything value;
  value.byName[std::string("a\0b", 3)] = {};
  EXPECT_THROW((void)toBson(value), std::logic_error);
}

TEST(BsonArchive, NamesTheFieldThatIsMissing) {
  EXPECT_EQ(failure<Point>(doc("x", 1)), "NoSuchKey: Point.y: the field is missing");
  EXPECT_EQ(failure<Everything>(bson::Document()), "NoSuchKey: Everything._id: the field is missing");
}

TEST(BsonArchive, NamesThePathOfAMistypedField) {
  bson::Builder b;
  b.openDocument("byName").openDocument("n").append("x", "one").close().close();
  Everything value;
  value.byName["n"] = {};
  const bson::Document document = toBson(value);
  bson::Builder changed;
  for (const auto& e : document.view()) {
    if (e.name() != "byName") changed.append(e);
  }
  changed.appendAll(b.finish());
  EXPECT_EQ(failure<Everything>(changed.finish()),
            "TypeMismatch: Everything.byName.n.x: expected an integer, found string");
}

TEST(BsonArchive, NamesThePlaceInAnArray) {
  const auto tree =
      doc("name", "a", "children",
          bson::array(doc("name", "b", "children", bson::array()), doc("name", 1, "children", bson::array())));
  EXPECT_EQ(failure<Tree>(tree), "TypeMismatch: Tree.children.1.name: expected a string, found int");
}

TEST(BsonArchive, RefusesNumbersThatDoNotFit) {
  EXPECT_EQ(failure<Point>(doc("x", int64_t{1} << 31, "y", 0)),
            "Overflow: Point.x: the number does not fit into 32 bits");
  EXPECT_EQ(failure<Point>(doc("x", -(int64_t{1} << 31) - 1, "y", 0)),
            "Overflow: Point.x: the number does not fit into 32 bits");
  EXPECT_EQ(failure<Point>(doc("x", -(int64_t{1} << 31), "y", 0)), "OK");
  EXPECT_EQ(failure<Point>(doc("x", 0.5, "y", 0)),
            "TypeMismatch: Point.x: expected an integer, found a number that is none");
  EXPECT_EQ(failure<Point>(doc("x", 1e30, "y", 0)),
            "TypeMismatch: Point.x: expected an integer, found a number that is none");
  const bson::Document numbers = toBson(Numbers{});
  bson::Builder b;
  for (const auto& e : numbers.view()) {
    if (e.name() == "small") b.append("small", -1);
    else b.append(e);
  }
  EXPECT_EQ(failure<Numbers>(b.finish()), "Overflow: Numbers.small: the number does not fit into 16 bits without sign");
}

TEST(BsonArchive, RefusesUnknownNames) {
  EXPECT_EQ(failure<Event>(doc("type", "Vanished")), "BadValue: value.type: unknown type 'Vanished'");
  EXPECT_EQ(failure<Event>(doc("x", 1)), "NoSuchKey: value.type: the field is missing");
  EXPECT_EQ(failure<Event>(doc("type", "Point", "x", 1)), "NoSuchKey: Point.y: the field is missing");
}

TEST(BsonArchive, RefusesWhatIsNestedTooDeep) {
  bson::Document tree = doc("name", "leaf", "children", bson::array());
  for (int i = 0; i < 80; ++i) tree = doc("name", "node", "children", bson::array(tree));
  EXPECT_THAT(failure<Tree>(tree), testing::StartsWith("Overflow: Tree.children.0.children.0."));
  EXPECT_THROW((void)toBson(branch(80)), std::length_error);
}

TEST(BsonArchive, ReadsWhatIsNestedAsDeepAsItWrites) {
  int deepest = 1;
  for (; deepest < 80; ++deepest) {
    try {
      const auto document = toBson(branch(deepest));
      EXPECT_EQ(failure<Tree>(document), "OK") << deepest;
    } catch (const std::length_error&) {
      break;
    }
  }
  EXPECT_GT(deepest, 30);
}

TEST(BsonArchive, RefusesADocumentThatIsTooLarge) {
  EXPECT_EQ(failure<Drained>(doc("x", std::string(17 << 20, 'x'))).substr(0, 27), "BSONObjectTooLarge: Drained");
}

}  // namespace
}  // namespace troupe::machines
