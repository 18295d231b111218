#pragma once
#include <rapidcheck.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "messaging/bson/json.hpp"
#include "messaging/description/bson_archive.hpp"
#include "messaging/description/description.hpp"
#include "test/unit/messaging/bson/arbitrary.hpp"

/// Described types with a field of each kind, and arbitrary values of them.
namespace troupe::machines::sample {

enum class Colour { kRed, kGreen, kDarkBlue };

/// An empty message.
struct Drained {};

struct Point {
  int32_t x = 0;
  int64_t y = 0;
};

struct Refused {
  Status why;
  std::optional<Point> where;
};

using Event = std::variant<Drained, Point, Refused>;

struct Numbers {
  bool truth = false;
  int8_t tiny = 0;
  uint16_t small = 0;
  int32_t normal = 0;
  uint32_t count = 0;
  int64_t large = 0;
  uint64_t huge = 0;
  double real = 0;
  float single = 0;
  std::chrono::milliseconds patience{};
};

struct Everything {
  bson::Uuid id;
  Numbers numbers;
  std::string text;
  std::vector<uint8_t> bytes;
  Colour colour = Colour::kRed;
  bson::ObjectId objectId;
  bson::Timestamp timestamp;
  bson::Date date;
  bson::Decimal128 decimal;
  Status status;
  bson::Document document;
  bson::Value any;
  std::optional<Colour> maybeColour;
  std::optional<int64_t> maybeNumber;
  std::optional<std::string> maybeText;
  std::optional<Point> maybePoint;
  std::vector<Point> points;
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> table;
  std::set<std::string> names;
  std::map<std::string, Point> byName;
  std::map<std::string, std::vector<Colour>> palettes;
  Event event;
  std::vector<Event> events;
};

/// A type that contains itself.
struct Tree {
  std::string name;
  std::vector<Tree> children;
};

}  // namespace troupe::machines::sample

TROUPE_ENUM(troupe::machines::sample::Colour, (kRed, "red"), (kGreen, "green"), (kDarkBlue, "darkBlue"))
TROUPE_DESCRIBE(troupe::machines::sample::Drained, 0)
TROUPE_DESCRIBE(troupe::machines::sample::Point, 0, x, y)
TROUPE_DESCRIBE(troupe::machines::sample::Refused, 1, why, where)
TROUPE_DESCRIBE(troupe::machines::sample::Numbers, 0, truth, tiny, small, normal, count, large, huge, real, single,
                patience)
TROUPE_DESCRIBE(troupe::machines::sample::Everything, 3, id, numbers, text, bytes, colour, objectId, timestamp, date,
                decimal, status, document, any, maybeColour, maybeNumber, maybeText, maybePoint, points, texts, table,
                names, byName, palettes, event, events)
TROUPE_DESCRIBE(troupe::machines::sample::Tree, 0, name, children)

namespace troupe::machines::sample {

inline bson::Uuid uuid() {
  bson::Uuid id;
  for (auto& byte : id.bytes) byte = *rc::gen::arbitrary<uint8_t>();
  return id;
}
inline Colour colour() { return *rc::gen::element(Colour::kRed, Colour::kGreen, Colour::kDarkBlue); }
inline Point point() { return {static_cast<int32_t>(bson::arbitrary::integer()), bson::arbitrary::integer()}; }
inline Status status() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0: return {};
    case 1: return {ErrorCode::kHostUnreachable, bson::arbitrary::text()};
    default: return {ErrorCode::kDuplicateKey, "twice", bson::doc("keyValue", bson::doc("a", 1))};
  }
}

/// As many as usual: mostly none, one or two of what `make` makes.
template <class Make>
auto some(Make make) {
  std::vector<decltype(make())> out;
  for (int count = *rc::gen::element(0, 0, 1, 2, 5); count > 0; --count) out.push_back(make());
  return out;
}
template <class Make>
auto maybe(Make make) {
  std::optional<decltype(make())> out;
  if (*rc::gen::arbitrary<bool>()) out = make();
  return out;
}
template <class Make>
auto named(Make make) {
  std::map<std::string, decltype(make())> out;
  for (int count = *rc::gen::inRange(0, 4); count > 0; --count) out.emplace(bson::arbitrary::name(), make());
  return out;
}

inline Event event() {
  switch (*rc::gen::inRange(0, 3)) {
    case 0: return Drained{};
    case 1: return point();
    default: return Refused{status(), maybe(point)};
  }
}

inline Numbers numbers() {
  Numbers n;
  n.truth = *rc::gen::arbitrary<bool>();
  n.tiny = static_cast<int8_t>(bson::arbitrary::integer());
  n.small = static_cast<uint16_t>(bson::arbitrary::integer());
  n.normal = static_cast<int32_t>(bson::arbitrary::integer());
  n.count = static_cast<uint32_t>(bson::arbitrary::integer());
  n.large = bson::arbitrary::integer();
  n.huge = static_cast<uint64_t>(bson::arbitrary::integer());
  n.real = bson::arbitrary::real();
  n.single = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 8;
  n.patience = std::chrono::milliseconds(bson::arbitrary::integer());
  return n;
}

inline bson::Value anyValue() {
  bson::Value value = *bson::arbitrary::value(2);
  return value.type() == bson::Type::kUndefined ? bson::Value() : value;  // undefined stands for a missing one
}

inline Everything everything() {
  Everything e;
  e.id = uuid();
  e.numbers = numbers();
  e.text = bson::arbitrary::text();
  e.bytes = some([] { return *rc::gen::arbitrary<uint8_t>(); });
  e.colour = colour();
  e.objectId = bson::arbitrary::objectId();
  e.timestamp = bson::Timestamp::fromUint64(*rc::gen::arbitrary<uint64_t>());
  e.date = {bson::arbitrary::integer()};
  e.decimal = bson::arbitrary::decimal();
  e.status = status();
  e.document = *bson::arbitrary::document(2);
  e.any = anyValue();
  e.maybeColour = maybe(colour);
  e.maybeNumber = maybe(bson::arbitrary::integer);
  e.maybeText = maybe(bson::arbitrary::text);
  e.maybePoint = maybe(point);
  e.points = some(point);
  e.texts = some(bson::arbitrary::text);
  e.table = some([] { return some([] { return static_cast<int32_t>(bson::arbitrary::integer()); }); });
  for (const auto& name : some(bson::arbitrary::text)) e.names.insert(name);
  e.byName = named(point);
  e.palettes = named([] { return some(colour); });
  e.event = event();
  e.events = some(event);
  return e;
}

/// All ranges in full from the first case on.
inline rc::Gen<Everything> arbitraryEverything() {
  return rc::gen::resize(bson::arbitrary::kSize, rc::gen::exec(everything));
}

/// A tree that is one branch of so many nodes.
inline Tree branch(int nodes) {
  Tree tree{"leaf", {}};
  for (; nodes > 1; --nodes) {
    Tree parent{"node", {}};
    parent.children.push_back(std::move(tree));
    tree = std::move(parent);
  }
  return tree;
}

inline void showValue(const Everything& value, std::ostream& out) { out << bson::toCanonicalJson(toBson(value)); }

}  // namespace troupe::machines::sample
