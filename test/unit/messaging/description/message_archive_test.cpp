#include "messaging/description/message_archive.hpp"

#include <capnp/serialize.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <stdexcept>

#include "messaging/description/fingerprint.hpp"
#include "test/unit/messaging/description/sample.capnp.h"
#include "test/unit/messaging/description/sample.hpp"

namespace troupe::machines {
namespace {

/// A bool for each bit of a byte and more, between other numbers.
struct Crowded {
  bool a = false;
  int16_t b = 0;
  bool c = false;
  int8_t d = 0;
  int64_t e = 0;
  bool f = false;
  int32_t g = 0;
  int8_t h = 0;
  std::optional<bool> i;
  std::vector<int8_t> j;
};

}  // namespace

template <>
inline constexpr bool kIsMessage<sample::Everything> = true;
template <>
inline constexpr bool kIsMessage<sample::Point> = true;
template <>
inline constexpr bool kIsMessage<sample::Drained> = true;
template <>
inline constexpr bool kIsMessage<sample::Tree> = true;

}  // namespace troupe::machines

TROUPE_MESSAGE(troupe::machines::Crowded, a, b, c, d, e, f, g, h, i, j)

namespace troupe::machines {
namespace {

using namespace sample;
using capnp::FlatArrayMessageReader;

template <class T>
std::string failure(const Payload& payload) {
  const auto read = fromPayload<T>(payload);
  return read.isOK() ? "OK" : read.status().toString();
}

/// A message of T as one that knows its schema writes it.
template <class T, class Schema, class Fill>
Payload writtenBySchema(Fill fill) {
  const Payload built = build<Schema>(fill);
  const auto bytes = built.words().asChars();
  return Payload::fromWords(messageId<T>(), {bytes.begin(), bytes.size()}, nullptr);
}

RC_GTEST_PROP(MessageArchive, ReadsWhatItWrote, ()) {
  const Everything value = *arbitraryEverything();
  const Payload payload = toPayload(value);
  RC_ASSERT(payload.type() == messageId<Everything>());
  const auto read = fromPayload<Everything>(payload);
  if (!read.isOK()) RC_FAIL(read.status().toString());
  RC_ASSERT(sameValue(*read, value));
}

RC_GTEST_PROP(MessageArchive, AnswersDamageWithAStatus, ()) {
  const Payload payload = toPayload(*arbitraryEverything());
  const auto words = payload.words().asBytes();
  std::string bytes(reinterpret_cast<const char*>(words.begin()), words.size());
  for (int changes = *rc::gen::inRange(1, 8); changes > 0; --changes) {
    bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = static_cast<char>(*rc::gen::arbitrary<uint8_t>());
  }
  bytes.resize(*rc::gen::element(bytes.size(), bytes.size(), *rc::gen::inRange<size_t>(0, bytes.size() + 1)));
  const auto read = fromPayload<Everything>(Payload::fromWords(messageId<Everything>(), bytes, nullptr));
  RC_CLASSIFY(read.isOK(), "read all the same");
  if (read.isOK()) RC_ASSERT(sameValue(*read, *read));
  else RC_ASSERT(!read.status().reason().empty());
}

RC_GTEST_PROP(MessageArchive, LaysNumbersOutAsCapnProtoDoes, ()) {
  const Everything value = *arbitraryEverything();
  const Payload payload = toPayload(value);
  FlatArrayMessageReader message(payload.words());
  const auto numbers = message.getRoot<schema::sample::Everything>().getNumbers();
  const Numbers& n = value.numbers;
  RC_ASSERT(numbers.getTruth() == n.truth && numbers.getTiny() == n.tiny && numbers.getSmall() == n.small);
  RC_ASSERT(numbers.getNormal() == n.normal && numbers.getCount() == n.count && numbers.getLarge() == n.large);
  const double real = numbers.getReal();
  RC_ASSERT(numbers.getHuge() == n.huge && std::memcmp(&real, &n.real, sizeof real) == 0);
  RC_ASSERT(numbers.getSingle() == n.single && numbers.getPatience() == n.patience.count());
}

TEST(MessageArchive, SharesABytesBitsAmongBools) {
  const Crowded value{true, -2, true, -4, -5, true, -7, -8, true, {-9, 10}};
  const Payload payload = toPayload(value);
  FlatArrayMessageReader message(payload.words());
  const auto reader = message.getRoot<schema::sample::Crowded>();
  EXPECT_TRUE(reader.getA() && reader.getC() && reader.getF());
  EXPECT_EQ(reader.getB(), -2);
  EXPECT_EQ(reader.getD(), -4);
  EXPECT_EQ(reader.getE(), -5);
  EXPECT_EQ(reader.getG(), -7);
  EXPECT_EQ(reader.getH(), -8);
  ASSERT_EQ(reader.getI().size(), 1u);
  EXPECT_TRUE(reader.getI()[0]);
  ASSERT_EQ(reader.getJ().size(), 2u);
  EXPECT_EQ(reader.getJ()[0], -9);
  EXPECT_TRUE(sameValue(*fromPayload<Crowded>(payload), value));
}

TEST(MessageArchive, WritesFieldsThatASchemaReadsByName) {
  Everything value;
  value.text = "t";
  value.colour = Colour::kDarkBlue;
  value.maybeNumber = 0;
  value.byName["n"] = {1, 2};
  value.palettes["p"] = {Colour::kGreen};
  value.points = {{1, 2}, {3, 4}};
  value.table = {{}, {5, 6}};
  value.event = Refused{Status(ErrorCode::kHostUnreachable, "no route"), Point{3, 4}};
  value.events = {Drained{}, Point{7, 8}};
  const Payload payload = toPayload(value);
  FlatArrayMessageReader message(payload.words());
  const auto reading = message.getRoot<schema::sample::Everything>();
  EXPECT_EQ(reading.getText(), "t");
  EXPECT_EQ(reading.getColour(), "darkBlue");
  ASSERT_EQ(reading.getMaybeNumber().size(), 1u);
  EXPECT_FALSE(reading.hasMaybeText());
  EXPECT_EQ(reading.getByName()[0].getKey(), "n");
  EXPECT_EQ(reading.getByName()[0].getValue().getY(), 2);
  EXPECT_EQ(reading.getPalettes()[0].getValue()[0], "green");
  EXPECT_EQ(reading.getPoints()[1].getX(), 3);
  EXPECT_EQ(reading.getTable()[1][1], 6);
  ASSERT_TRUE(reading.getEvent().isRefused());
  EXPECT_EQ(reading.getEvent().getRefused().getWhy().getReason(), "no route");
  EXPECT_EQ(reading.getEvent().getRefused().getWhere().getX(), 3);
  EXPECT_TRUE(reading.getEvents()[0].isDrained());
  EXPECT_EQ(reading.getEvents()[1].getPoint().getY(), 8);
}

TEST(MessageArchive, ReadsWhatASchemaWrites) {
  const Payload payload = writtenBySchema<Everything, schema::sample::Everything>([](auto e) {
    e.setText("t");
    e.setColour("green");
    e.initMaybeNumber(1).set(0, -3);
    auto points = e.initPoints(2);
    points[1].setY(9);
    e.initStatus().setCode(static_cast<int32_t>(ErrorCode::kHostUnreachable));
    e.initEvent().initPoint().setX(4);
    e.initEvents(1)[0].initDrained();
    auto palette = e.initPalettes(1)[0];
    palette.setKey("p");
    palette.initValue(2).set(1, "darkBlue");
  });
  const auto read = fromPayload<Everything>(payload);
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ(read->text, "t");
  EXPECT_EQ(read->colour, Colour::kGreen);
  EXPECT_EQ(read->maybeNumber, -3);
  ASSERT_EQ(read->points.size(), 2u);
  EXPECT_EQ(read->points[1].y, 9);
  EXPECT_EQ(read->status, ErrorCode::kHostUnreachable);
  EXPECT_EQ(std::get<Point>(read->event).x, 4);
  EXPECT_TRUE(std::holds_alternative<Drained>(read->events.at(0)));
  EXPECT_EQ(read->palettes.at("p"), (std::vector{Colour::kRed, Colour::kDarkBlue}));
}

TEST(MessageArchive, HasZerosForTheFieldsOfALaterVersion) {
  const auto older = writtenBySchema<Point, schema::sample::OlderPoint>([](auto p) { p.setX(5); });
  EXPECT_EQ(fromPayload<Point>(older)->x, 5);
  EXPECT_EQ(fromPayload<Point>(older)->y, 0);
  const auto newer = writtenBySchema<Point, schema::sample::NewerPoint>([](auto p) {
    p.setX(6);
    p.setY(7);
    p.setZ(0.5);
    p.setName("summit");
  });
  EXPECT_EQ(fromPayload<Point>(newer)->x, 6);
  EXPECT_EQ(fromPayload<Point>(newer)->y, 7);
}

TEST(MessageArchive, TakesDefaultsForWhatIsNotSet) {
  const auto read = fromPayload<Everything>(writtenBySchema<Everything, schema::sample::Everything>([](auto) {}));
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_TRUE(sameValue(*read, Everything()));
}

TEST(MessageArchive, CarriesAMessageWithoutFields) { EXPECT_EQ(failure<Drained>(toPayload(Drained{})), "OK"); }

TEST(MessageArchive, CarriesATypeThatContainsItself) {
  const Tree tree = branch(20);
  const auto read = fromPayload<Tree>(toPayload(tree));
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_TRUE(sameValue(*read, tree));
}

TEST(MessageArchive, TakesEachMessageByItsType) {
  EXPECT_EQ(failure<Point>(toPayload(Drained{})), "TypeMismatch: expected a message Point, found Drained");
  EXPECT_EQ(failure<Point>(local(7)), "TypeMismatch: expected a message Point, found int");
  EXPECT_EQ(failure<Point>(Payload()), "TypeMismatch: expected a message Point, found nothing");
}

TEST(MessageArchive, NamesTheFieldThatItCannotTake) {
  const auto everything = [](auto fill) {
    return failure<Everything>(writtenBySchema<Everything, schema::sample::Everything>(fill));
  };
  EXPECT_EQ(everything([](auto e) { e.setColour("pink"); }), "BadValue: Everything.colour: unknown name 'pink'");
  EXPECT_EQ(everything([](auto e) { e.initObjectId(11); }),
            "BadValue: Everything.objectId: expected 12 bytes, found 11");
  EXPECT_EQ(everything([](auto e) { e.initMaybeNumber(2); }),
            "BadValue: Everything.maybeNumber: expected one value at most, found 2");
  EXPECT_EQ(everything([](auto e) {
              auto palette = e.initPalettes(1)[0];
              palette.setKey("p");
              palette.initValue(2).set(1, "mauve");
            }),
            "BadValue: Everything.palettes.p.1: unknown name 'mauve'");
  EXPECT_EQ(everything([](auto e) { e.initByName(1)[0].setKey(capnp::Text::Reader("a\0b", 3)); }),
            "BadValue: Everything.byName: a map's key holds a NUL");
  EXPECT_EQ(everything([](auto e) { e.initDocument(4); }), "FailedToParse: Everything.document: not a document");
}

TEST(MessageArchive, RefusesAnAlternativeThatItDoesNotKnow) {
  struct Any {
    static void mark(capnp::AnyStruct::Builder event) { event.getDataSection()[0] = 3; }
  };
  EXPECT_EQ(failure<Everything>(
                writtenBySchema<Everything, schema::sample::Everything>([](auto e) { Any::mark(e.initEvent()); })),
            "BadValue: Everything.event: holds a type that this node does not know");
}

TEST(MessageArchive, RefusesWhatIsNestedTooDeep) {
  EXPECT_THROW((void)toPayload(branch(80)), std::length_error);
  const Payload deep = writtenBySchema<Tree, schema::sample::Tree>([](auto tree) {
    schema::sample::Tree::Builder at = tree;
    for (int i = 0; i < 80; ++i) at = at.initChildren(1)[0];
  });
  EXPECT_THAT(failure<Tree>(deep), testing::StartsWith("Overflow: Tree.children.0.children"));
}

TEST(MessageArchive, ReadsWhatIsNestedAsDeepAsItWrites) {
  int deepest = 1;
  for (; deepest < 80; ++deepest) {
    try {
      EXPECT_EQ(failure<Tree>(toPayload(branch(deepest))), "OK") << deepest;
    } catch (const std::length_error&) {
      break;
    }
  }
  EXPECT_GT(deepest, 30);
  EXPECT_LT(deepest, 80);
}

TEST(MessageId, DiffersByNameAndIsNoLocalType) {
  EXPECT_NE(messageId<Point>(), messageId<Tree>());
  EXPECT_EQ(messageId<Point>() >> 63, 1u) << "links refuse others";
}

}  // namespace
}  // namespace troupe::machines
