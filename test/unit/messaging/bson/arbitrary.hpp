#pragma once
#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/numeric.hpp"

/// Generators of arbitrary documents and values for property tests. They prefer what goes wrong: numbers of all types
/// around the same edges, strings with NULs and accents, empty and nested containers. All are canonical: the same value
/// has one encoding (NaN without payload), so that bytes may be compared after a round trip.
namespace troupe::bson {

inline void showValue(const Document& document, std::ostream& out) { out << toCanonicalJson(document); }
inline void showValue(const Value& value, std::ostream& out) { out << toCanonicalJson(doc("", value)); }

namespace arbitrary {

inline constexpr int kDepth = 3;
/// All ranges in full from the first case on: rapidcheck would begin with small ones.
inline constexpr int kSize = 100;

inline std::string text() {
  static const std::vector<std::string> kPieces = {
      "a", "b",  "A", "ab", "\xC3\xA9",         "\xE6\x97\xA5", std::string(1, '\0'),
      "1", "10", " ", "_",  "\xF0\x9F\x98\x80", "\x01",         "\x7F"};
  std::string out;
  // Mostly short, so that equal strings and prefixes happen.
  const int count = *rc::gen::element(0, 1, 1, 2, 2, 3, 4, 8, 16);
  for (int i = 0; i < count; ++i) out += *rc::gen::elementOf(kPieces);
  return out;
}

/// Without NUL, as names and regular expressions are.
inline std::string name() {
  std::string out = text();
  std::erase(out, '\0');
  return out.substr(0, out.find_first_of('\x01'));
}

/// Integers near powers of two and ten.
inline int64_t integer() {
  const auto shift = *rc::gen::inRange(0, 64);
  const auto offset = *rc::gen::inRange<int64_t>(-2, 3);
  const bool negative = *rc::gen::arbitrary<bool>();
  uint64_t magnitude = shift == 63 ? *rc::gen::arbitrary<uint64_t>() : uint64_t{1} << shift;
  magnitude += static_cast<uint64_t>(offset);
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

inline double real() {
  static const std::vector<double> kEdges = {0.0,
                                             -0.0,
                                             0.1,
                                             -0.1,
                                             0.5,
                                             1.5,
                                             1e-300,
                                             5e-324,
                                             -5e-324,
                                             1e300,
                                             9223372036854775808.0,
                                             -9223372036854775808.0,
                                             9007199254740993.0,
                                             std::numeric_limits<double>::max(),
                                             std::numeric_limits<double>::infinity(),
                                             -std::numeric_limits<double>::infinity(),
                                             std::numeric_limits<double>::quiet_NaN(),
                                             18446744073709551616.0};
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return *rc::gen::elementOf(kEdges);
    case 1: return static_cast<double>(integer());
    case 2: return static_cast<double>(*rc::gen::inRange(-100, 100)) / 8;
    default: {
      const auto bits = *rc::gen::arbitrary<uint64_t>();
      double v;
      std::memcpy(&v, &bits, sizeof v);
      return std::isnan(v) ? 0.3 : v;
    }
  }
}

inline Decimal128 decimal() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0: return decimalFromInt64(integer());
    case 1: return quantize(decimalFromInt64(*rc::gen::inRange(-100, 100)), *rc::gen::inRange(-30, 1));
    case 2: {
      const double v = real();
      return std::isnan(v) ? Decimal128{0, 0x7C00000000000000ULL} : decimalFromDoubleExact(v);
    }
    case 3: {
      const double v = real();
      return std::isnan(v) ? Decimal128{0, 0x7800000000000000ULL} : decimalFromDouble(v);
    }
    case 4: {  // one unit in the 34th place beside a double
      const Decimal128 v = truncatedToDecimal(real()).value;
      if (isNaN(v) || isInfinite(v) || isZero(v)) return fromParts({true, 0, 0, *rc::gen::inRange(-6176, 6112)});
      DecimalParts parts = partsOf(v);
      parts.low += parts.low % 1000 == 999 ? 0 : 1;
      return fromParts(parts);
    }
    default:
      return fromParts({*rc::gen::arbitrary<bool>(), *rc::gen::inRange<uint64_t>(0, 0x0001ED09BEAD87C0ULL),
                        *rc::gen::arbitrary<uint64_t>(), *rc::gen::inRange(-6176, 6112)});
  }
}

inline void appendNumber(Builder& b, std::string_view name) {
  switch (*rc::gen::inRange(0, 4)) {
    case 0: b.append(name, static_cast<int32_t>(integer())); break;
    case 1: b.append(name, integer()); break;
    case 2: b.append(name, real()); break;
    default: b.append(name, decimal()); break;
  }
}

inline ObjectId objectId() {
  ObjectId id;
  for (auto& byte : id.bytes) byte = *rc::gen::arbitrary<uint8_t>();
  return id;
}

void append(Builder& b, std::string_view name, int depth);

inline void appendFields(Builder& b, int depth) {
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) append(b, name(), depth - 1);
}

inline void appendCodeWithScope(Builder& b, std::string_view name, int depth) {
  Builder scope;
  appendFields(scope, depth);
  const Document document = scope.finish();
  const std::string code = arbitrary::name();  // libbson's JSON cuts code at a NUL
  const auto codeSize = static_cast<int32_t>(code.size() + 1);
  const auto total = static_cast<int32_t>(8 + code.size() + 1 + document.bytes().size());
  std::string bytes(reinterpret_cast<const char*>(&total), 4);
  bytes.append(reinterpret_cast<const char*>(&codeSize), 4).append(code).push_back('\0');
  b.appendRaw(name, Type::kCodeWithScope, bytes.append(document.bytes()));
}

inline void appendContainer(Builder& b, std::string_view fieldName, int depth) {
  if (*rc::gen::arbitrary<bool>()) {
    b.openDocument(fieldName);
    appendFields(b, depth);
  } else {
    b.openArray(fieldName);
    const int count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i) append(b, std::to_string(i), depth - 1);
  }
  b.close();
}

inline void appendRare(Builder& b, std::string_view fieldName, int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 10 : 9)) {
    case 0: b.append(fieldName, MinKey{}); break;
    case 1: b.append(fieldName, MaxKey{}); break;
    case 2: b.append(fieldName, Undefined{}); break;
    case 3: b.append(fieldName, Regex{name(), *rc::gen::element<std::string>("", "i", "im", "x")}); break;
    case 4: b.append(fieldName, DBPointer{name(), objectId()}); break;
    case 5: b.append(fieldName, Code{name()}); break;
    case 6: b.append(fieldName, Symbol{name()}); break;
    case 7: b.append(fieldName, Timestamp::fromUint64(*rc::gen::arbitrary<uint64_t>())); break;
    case 8: b.append(fieldName, Binary{*rc::gen::element<uint8_t>(0, 1, 3, 4, 5, 0x80), name()}); break;
    default: appendCodeWithScope(b, fieldName, depth); break;
  }
}

/// Any value.
inline void append(Builder& b, std::string_view fieldName, int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 10 : 8)) {
    case 0:
    case 1:
    case 2: appendNumber(b, fieldName); break;
    case 3: b.append(fieldName, text()); break;
    case 4: b.append(fieldName, *rc::gen::arbitrary<bool>()); break;
    case 5: b.append(fieldName, Null{}); break;
    case 6:
      if (*rc::gen::arbitrary<bool>()) b.append(fieldName, objectId());
      else b.append(fieldName, Date{*rc::gen::arbitrary<int64_t>()});
      break;
    case 7: appendRare(b, fieldName, depth); break;
    default: appendContainer(b, fieldName, depth); break;
  }
}

inline rc::Gen<Document> document(int depth = kDepth) {
  return rc::gen::resize(kSize, rc::gen::exec([depth] {
                           Builder b;
                           appendFields(b, depth);
                           return b.finish();
                         }));
}

inline rc::Gen<Value> value(int depth = kDepth) {
  return rc::gen::resize(kSize, rc::gen::exec([depth] {
                           Builder b;
                           append(b, "", depth);
                           return Value(b.finish().view().first());
                         }));
}

inline rc::Gen<Value> number() {
  return rc::gen::resize(kSize, rc::gen::exec([] {
                           Builder b;
                           appendNumber(b, "");
                           return Value(b.finish().view().first());
                         }));
}

}  // namespace arbitrary
}  // namespace troupe::bson

namespace rc {
template <>
struct Arbitrary<troupe::bson::Document> {
  static Gen<troupe::bson::Document> arbitrary() { return troupe::bson::arbitrary::document(); }
};
template <>
struct Arbitrary<troupe::bson::Value> {
  static Gen<troupe::bson::Value> arbitrary() { return troupe::bson::arbitrary::value(); }
};
}  // namespace rc
