#include "messaging/description/message_archive.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <stdexcept>

#include "messaging/description/fingerprint.hpp"
#include "test/unit/messaging/description/sample.capnp.h"
#include "test/unit/messaging/description/sample.hpp"

namespace troupe::machines {
namespace {

using namespace sample;

struct Painted {
  Colour colour = Colour::kRed;
};
struct OptionalPoint {
  std::optional<int64_t> limit;
};

}  // namespace
}  // namespace troupe::machines

TROUPE_DESCRIBE(troupe::machines::Painted, 0, colour)
TROUPE_DESCRIBE(troupe::machines::OptionalPoint, 0, limit)

namespace troupe::machines {
namespace {

template <class T, class Schema>
std::string failure(const Payload& payload) {
  const auto read = fromPayload<T, Schema>(payload);
  return read.isOK() ? "OK" : read.status().toString();
}

RC_GTEST_PROP(MessageArchive, ReadsWhatItWrote, ()) {
  const Everything value = *arbitraryEverything();
  const Payload payload = toPayload<schema::sample::Everything>(value);
  RC_ASSERT(payload.is<schema::sample::Everything>());
  const auto read = fromPayload<Everything, schema::sample::Everything>(payload);
  if (!read.isOK()) RC_FAIL(read.status().toString());
  RC_ASSERT(sameValue(*read, value));
}

RC_GTEST_PROP(MessageArchive, AnswersDamageWithAStatus, ()) {
  const Payload payload = toPayload<schema::sample::Everything>(*arbitraryEverything());
  const auto words = payload.words().asBytes();
  std::string bytes(reinterpret_cast<const char*>(words.begin()), words.size());
  for (int changes = *rc::gen::inRange(1, 8); changes > 0; --changes) {
    bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = static_cast<char>(*rc::gen::arbitrary<uint8_t>());
  }
  bytes.resize(*rc::gen::element(bytes.size(), bytes.size(), *rc::gen::inRange<size_t>(0, bytes.size() + 1)));
  const auto type = payloadType<schema::sample::Everything>();
  const auto read = fromPayload<Everything, schema::sample::Everything>(Payload::fromWords(type, bytes, nullptr));
  RC_CLASSIFY(read.isOK(), "read all the same");
  if (read.isOK()) RC_ASSERT(sameValue(*read, *read));
  else RC_ASSERT(!read.status().reason().empty());
}

TEST(MessageArchive, WritesFieldsThatOthersReadByName) {
  Everything value;
  value.text = "t";
  value.colour = Colour::kDarkBlue;
  value.maybeNumber = 0;
  value.byName["n"] = {1, 2};
  value.event = Refused{Status(ErrorCode::kHostUnreachable, "no route"), Point{3, 4}};
  const Payload payload = toPayload<schema::sample::Everything>(value);
  auto reading = payload.read<schema::sample::Everything>();
  EXPECT_EQ(reading->getText(), "t");
  EXPECT_EQ(reading->getColour(), "darkBlue");
  ASSERT_EQ(reading->getMaybeNumber().size(), 1u);
  EXPECT_FALSE(reading->hasMaybeText());
  EXPECT_EQ(reading->getByName()[0].getKey(), "n");
  EXPECT_EQ(reading->getByName()[0].getValue().getY(), 2);
  ASSERT_TRUE(reading->getEvent().isRefused());
  EXPECT_EQ(reading->getEvent().getRefused().getWhy().getReason(), "no route");
  EXPECT_EQ(reading->getEvent().getRefused().getWhere().getX(), 3);
}

TEST(MessageArchive, TakesDefaultsForWhatIsNotSet) {
  const auto read = fromPayload<Everything, schema::sample::Everything>(build<schema::sample::Everything>());
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_TRUE(sameValue(*read, Everything()));
}

TEST(MessageArchive, CarriesAMessageWithoutFields) {
  const Payload payload = toPayload<schema::sample::Drained>(Drained{});
  EXPECT_EQ((failure<Drained, schema::sample::Drained>(payload)), "OK");
}

TEST(MessageArchive, CarriesATypeThatContainsItself) {
  const Tree tree = branch(20);
  const auto read = fromPayload<Tree, schema::sample::Tree>(toPayload<schema::sample::Tree>(tree));
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_TRUE(sameValue(*read, tree));
}

TEST(MessageArchive, CarriesEnumsAsEnums) {
  const Payload payload = toPayload<schema::sample::Painted>(Painted{Colour::kGreen});
  EXPECT_EQ(payload.read<schema::sample::Painted>()->getColour(), schema::sample::Colour::GREEN);
  const auto read = fromPayload<Painted, schema::sample::Painted>(payload);
  ASSERT_TRUE(read.isOK());
  EXPECT_EQ(read->colour, Colour::kGreen);
}

TEST(MessageArchive, TakesEachMessageByItsType) {
  EXPECT_EQ((failure<Point, schema::sample::Point>(toPayload<schema::sample::Drained>(Drained{}))),
            "TypeMismatch: expected a message Point, found Drained");
  EXPECT_EQ((failure<Point, schema::sample::Point>(local(7))), "TypeMismatch: expected a message Point, found int");
  EXPECT_EQ((failure<Point, schema::sample::Point>(Payload())),
            "TypeMismatch: expected a message Point, found nothing");
}

TEST(MessageArchive, NamesTheFieldThatItCannotTake) {
  const auto everything = [](auto fill) { return build<schema::sample::Everything>(fill); };
  EXPECT_EQ((failure<Everything, schema::sample::Everything>(everything([](auto e) { e.setColour("pink"); }))),
            "BadValue: Everything.colour: unknown name 'pink'");
  EXPECT_EQ((failure<Everything, schema::sample::Everything>(everything([](auto e) { e.initObjectId(11); }))),
            "BadValue: Everything.objectId: expected 12 bytes, found 11");
  EXPECT_EQ((failure<Everything, schema::sample::Everything>(everything([](auto e) { e.initMaybeNumber(2); }))),
            "BadValue: Everything.maybeNumber: expected one value at most, found 2");
  const Payload paletteOfAnother = everything([](auto e) {
    auto palette = e.initPalettes(1)[0];
    palette.setKey("p");
    palette.initValue(2).set(1, static_cast<schema::sample::Colour>(9));
  });
  EXPECT_EQ((failure<Everything, schema::sample::Everything>(paletteOfAnother)),
            "BadValue: Everything.palettes.p.1: unknown value 9");
  const Payload keyWithNul = everything([](auto e) { e.initByName(1)[0].setKey(capnp::Text::Reader("a\0b", 3)); });
  EXPECT_EQ((failure<Everything, schema::sample::Everything>(keyWithNul)),
            "BadValue: Everything.byName: a map's key holds a NUL");
  EXPECT_EQ((failure<Everything, schema::sample::Everything>(everything([](auto e) { e.initDocument(4); }))),
            "FailedToParse: Everything.document: not a document");
}

TEST(MessageArchive, RefusesNumbersThatDoNotFit) {
  const Payload wide = build<schema::sample::WidePoint>([](auto p) { p.setX(int64_t{1} << 40); });
  EXPECT_EQ((failure<Point, schema::sample::WidePoint>(wide)), "Overflow: Point.x: the number does not fit");
}

TEST(MessageArchive, RefusesWhatIsNestedTooDeep) {
  EXPECT_THROW((void)toPayload<schema::sample::Tree>(branch(80)), std::length_error);
  const Payload deep = build<schema::sample::Tree>([](auto tree) {
    schema::sample::Tree::Builder at = tree;
    for (int i = 0; i < 80; ++i) at = at.initChildren(1)[0];
  });
  EXPECT_THAT((failure<Tree, schema::sample::Tree>(deep)), testing::StartsWith("Overflow: Tree.children.0.children"));
}

TEST(MessageArchive, ReadsWhatIsNestedAsDeepAsItWrites) {
  int deepest = 1;
  for (; deepest < 80; ++deepest) {
    try {
      EXPECT_EQ((failure<Tree, schema::sample::Tree>(toPayload<schema::sample::Tree>(branch(deepest)))), "OK")
          << deepest;
    } catch (const std::length_error&) {
      break;
    }
  }
  EXPECT_GT(deepest, 30);
  EXPECT_LT(deepest, 80);
}

TEST(SchemaFits, WhatIsDescribed) {
  EXPECT_TRUE((schemaFits<Everything, schema::sample::Everything>().isOK()))
      << schemaFits<Everything, schema::sample::Everything>().toString();
  EXPECT_TRUE((schemaFits<Tree, schema::sample::Tree>().isOK()));
  EXPECT_TRUE((schemaFits<Painted, schema::sample::Painted>().isOK()));
  EXPECT_TRUE((schemaFits<Point, schema::sample::WidePoint>().isOK()));
}

TEST(SchemaFits, NotWhenAFieldIsMissingOnEitherSide) {
  const Status status = schemaFits<Point, schema::sample::PointWithoutY>();
  EXPECT_EQ(status.toString(),
            "InvalidOptions: Point: the schema has no field 'y'; "
            "Point: the field 'z' of the schema is not described");
}

TEST(SchemaFits, NotWhenATypeDiffers) {
  const Status status = schemaFits<Point, schema::sample::NarrowPoint>();
  EXPECT_EQ(status.toString(),
            "InvalidOptions: Point.x: needs an Int that is wide enough in the schema; "
            "Point.y: needs an Int that is wide enough in the schema");
}

TEST(SchemaFits, NotWhenAnEnumHasOtherNames) {
  const Status status = schemaFits<Painted, schema::sample::BadlyPainted>();
  EXPECT_EQ(status.toString(),
            "InvalidOptions: Painted.colour: the enum of the schema has no 'green'; "
            "Painted.colour: the enum of the schema has no 'darkBlue'; "
            "Painted.colour: the enum has no 'purple'");
}

TEST(SchemaFits, NotWhenWhatMayBeAbsentIsAlwaysThere) {
  const Status status = schemaFits<OptionalPoint, schema::sample::OptionalPoint>();
  EXPECT_EQ(
      status.toString(),
      "InvalidOptions: OptionalPoint.limit: needs a List (of none or one) in the schema, because it may be absent");
}

TEST(SchemaFits, OrElseNothingIsWritten) {
  EXPECT_THROW((void)toPayload<schema::sample::NarrowPoint>(Point{}), std::logic_error);
}

}  // namespace
}  // namespace troupe::machines
