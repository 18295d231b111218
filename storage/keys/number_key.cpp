#include "storage/keys/number_key.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "messaging/bson/numeric.hpp"

namespace troupe::storage::key_string {
namespace {

__extension__ typedef unsigned __int128 Uint128;

constexpr uint64_t kTwoTo63 = 1ULL << 63;
constexpr double kTwoTo63Double = 9223372036854775808.0;
constexpr uint8_t kExact = 0, kDecimalFollows = 1;
constexpr int kNormalisedBias = 8192, kDecimalBias = 6176, kLargestBiasedExponent = 12287;
constexpr uint32_t kExponentBits = 14;

enum TypeCode : uint32_t { kNatural = 0, kDouble = 1, kInt64 = 2, kDecimal = 3 };

constexpr Uint128 powerOfTen(int n) {
  Uint128 power = 1;
  while (n-- > 0) power *= 10;
  return power;
}
constexpr Uint128 kSmallestNormalised = powerOfTen(33);

/// Writes the rest of a number; everything after the tag of a negative number is inverted.
class NumberWriter {
 public:
  NumberWriter(Buffer& out, bool negative) : out_(out), negative_(negative) {}

  /// An integer part from 1 to 2^63 - 1.
  void integer(uint64_t magnitude, bool fractionFollows) {
    const uint64_t doubled = magnitude << 1 | static_cast<uint64_t>(fractionFollows);
    const auto count = static_cast<uint32_t>((71 - std::countl_zero(doubled)) / 8);
    const uint64_t shifted = doubled << (64 - 8 * count);
    const uint64_t bigEndian = __builtin_bswap64(negative_ ? ~shifted : shifted);
    char bytes[9];
    bytes[0] = static_cast<char>(negative_ ? kNegativeBytes - count : kPositiveBytes + count);
    std::memcpy(bytes + 1, &bigEndian, sizeof bigEndian);
    out_.append(bytes, 1 + count);
  }
  void small() { out_.push(negative_ ? kNegativeSmall : kPositiveSmall); }
  void large() { out_.push(negative_ ? kNegativeLarge : kPositiveLarge); }
  void infinity() { out_.push(negative_ ? kNegativeInfinity : kPositiveInfinity); }

  void tail(double magnitude) {
    magnitudeBits(magnitude);
    marker(kExact);
  }

  void tail(bson::Decimal128 magnitude) {
    const auto truncated = bson::truncatedToDouble(magnitude);
    magnitudeBits(truncated.value);
    marker(truncated.exact ? kExact : kDecimalFollows);
    if (truncated.exact) return;
    const bson::DecimalParts parts = bson::partsOf(magnitude);
    Uint128 digits = static_cast<Uint128>(parts.high) << 64 | parts.low;
    int exponent = parts.exponent;
    for (; digits < kSmallestNormalised; --exponent) digits *= 10;
    const size_t start = out_.size();
    out_.appendBigEndian(static_cast<uint16_t>(exponent + kNormalisedBias));
    for (int shift = 112; shift >= 0; shift -= 8) out_.push(static_cast<uint8_t>(digits >> shift));
    if (negative_) out_.invertFrom(start);
  }

 private:
  void magnitudeBits(double magnitude) {
    const auto bits = std::bit_cast<uint64_t>(magnitude);
    out_.appendBigEndian(negative_ ? ~bits : bits);
  }
  void marker(uint8_t value) { out_.push(negative_ ? static_cast<uint8_t>(~value) : value); }

  Buffer& out_;
  const bool negative_;
};

bool naturalIsInt32(int64_t v) { return v == static_cast<int32_t>(v); }

void appendInteger(Buffer& out, int64_t v) {
  if (v == 0) return out.push(kZero);
  NumberWriter writer(out, v < 0);
  const uint64_t magnitude = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  if (magnitude < kTwoTo63) return writer.integer(magnitude, false);
  writer.large();
  writer.tail(kTwoTo63Double);
}

void appendDouble(Buffer& out, TypeBitsWriter& bits, double v) {
  if (v == 0) {
    out.push(kZero);
    bits.put(kDouble, 2);
    return bits.put(std::signbit(v) ? 1 : 0, 1);
  }
  const double magnitude = std::fabs(v);
  NumberWriter writer(out, v < 0);
  TypeCode code = kNatural;
  if (std::isnan(v)) {
    out.push(kNaN);
  } else if (std::isinf(v)) {
    writer.infinity();
  } else if (magnitude >= kTwoTo63Double) {
    writer.large();
    writer.tail(magnitude);
    if (v == -kTwoTo63Double) code = kDouble;  // this one is also an int64
  } else if (magnitude < 1) {
    writer.small();
    writer.tail(magnitude);
  } else {
    const auto integer = static_cast<uint64_t>(magnitude);
    const bool fraction = static_cast<double>(integer) != magnitude;
    writer.integer(integer, fraction);
    if (fraction) writer.tail(magnitude);
    else code = kDouble;
  }
  bits.put(code, 2);
}

void appendDecimal(Buffer& out, TypeBitsWriter& bits, bson::Decimal128 v) {
  const bool negative = bson::isNegative(v);
  NumberWriter writer(out, negative);
  bits.put(kDecimal, 2);
  if (bson::isNaN(v)) return out.push(kNaN);
  if (bson::isInfinite(v)) return writer.infinity();
  bits.put(static_cast<uint32_t>(bson::partsOf(v).exponent + kDecimalBias), kExponentBits);
  if (bson::isZero(v)) {
    bits.put(negative ? 1 : 0, 1);
    return out.push(kZero);
  }
  const bson::Decimal128 magnitude = bson::abs(v);
  const auto integer = bson::truncatedInt64(magnitude);
  if (!integer) {
    writer.large();
    return writer.tail(magnitude);
  }
  if (*integer == 0) {
    writer.small();
    return writer.tail(magnitude);
  }
  const bool fraction = bson::compareNumbers(*integer, magnitude) != 0;
  writer.integer(static_cast<uint64_t>(*integer), fraction);
  if (fraction) writer.tail(magnitude);
}

/// A number as it was read: an integer, or a double, or (only of decimals) digits and exponent.
struct Magnitude {
  bool isInteger = false;
  bool isDecimal = false;
  uint64_t integer = 0;
  double real = 0;
  Uint128 digits = 0;
  int exponent = 0;
};

void readTail(ByteReader& in, uint8_t invert, Magnitude& magnitude) {
  uint64_t bits = in.bigEndian(8);
  if (invert) bits = ~bits;
  magnitude.real = std::bit_cast<double>(bits);
  const uint8_t marker = in.byte() ^ invert;
  if (marker == kExact) return;
  if (marker != kDecimalFollows) return in.fail();
  magnitude.isDecimal = true;
  for (int i = 0; i < 2; ++i) magnitude.exponent = magnitude.exponent << 8 | (in.byte() ^ invert);
  magnitude.exponent -= kNormalisedBias;
  for (int i = 0; i < 15; ++i) magnitude.digits = magnitude.digits << 8 | (in.byte() ^ invert);
}

Magnitude readMagnitude(uint8_t tag, bool negative, ByteReader& in) {
  const uint8_t invert = negative ? 0xFF : 0;
  Magnitude magnitude;
  if (tag == kNegativeLarge || tag == kPositiveLarge || tag == kNegativeSmall || tag == kPositiveSmall) {
    readTail(in, invert, magnitude);
    return magnitude;
  }
  const size_t count = negative ? kNegativeBytes - tag : tag - kPositiveBytes;
  uint64_t doubled = 0;
  for (size_t i = 0; i < count; ++i) doubled = doubled << 8 | (in.byte() ^ invert);
  magnitude.integer = doubled >> 1;
  magnitude.isInteger = !(doubled & 1);
  if (!magnitude.isInteger) readTail(in, invert, magnitude);
  return magnitude;
}

bson::Decimal128 toDecimal(const Magnitude& magnitude, int exponent, bool negative, ByteReader& in) {
  if (magnitude.isDecimal) {
    Uint128 digits = magnitude.digits;
    for (int at = magnitude.exponent; at < exponent && digits != 0; ++at) digits /= 10;
    if (digits >= powerOfTen(34)) in.fail();
    return bson::fromParts({negative, static_cast<uint64_t>(digits >> 64), static_cast<uint64_t>(digits), exponent});
  }
  const bson::Decimal128 exact = magnitude.isInteger ? bson::decimalFromInt64(static_cast<int64_t>(magnitude.integer))
                                                     : bson::truncatedToDecimal(magnitude.real).value;
  const bson::Decimal128 quantized = bson::quantize(exact, exponent);
  return negative ? bson::negate(quantized) : quantized;
}

int readExponent(TypeBitsReader& bits, ByteReader& in) {
  const auto biased = static_cast<int>(bits.take(kExponentBits));
  if (biased > kLargestBiasedExponent) in.fail();
  return std::min(biased, kLargestBiasedExponent) - kDecimalBias;
}

void readZero(uint32_t code, ByteReader& in, TypeBitsReader& bits, bson::Builder& out, std::string_view name) {
  if (code == kNatural) {
    out.append(name, int32_t{0});
  } else if (code == kInt64) {
    out.append(name, int64_t{0});
  } else if (code == kDouble) {
    out.append(name, bits.take(1) ? -0.0 : 0.0);
  } else {
    const int exponent = readExponent(bits, in);
    out.append(name, bson::fromParts({bits.take(1) != 0, 0, 0, exponent}));
  }
}

void readInteger(const Magnitude& magnitude, bool negative, uint32_t code, bson::Builder& out, std::string_view name) {
  const auto value = static_cast<int64_t>(negative ? 0 - magnitude.integer : magnitude.integer);
  if (code == kDouble) out.append(name, static_cast<double>(value));
  else if (code == kNatural && naturalIsInt32(value)) out.append(name, static_cast<int32_t>(value));
  else out.append(name, value);
}

}  // namespace

void appendNumber(Buffer& out, TypeBitsWriter& bits, const bson::Element& number) {
  switch (number.type()) {
    case bson::Type::kInt32: appendInteger(out, number.asInt32()); return bits.put(kNatural, 2);
    case bson::Type::kInt64: {
      // The least int64 lies among the large numbers, where the natural type is double.
      const int64_t v = number.asInt64();
      appendInteger(out, v);
      const bool natural = !naturalIsInt32(v) && v != std::numeric_limits<int64_t>::min();
      return bits.put(natural ? kNatural : kInt64, 2);
    }
    case bson::Type::kDouble: return appendDouble(out, bits, number.asDouble());
    default: return appendDecimal(out, bits, number.asDecimal());
  }
}

void readNumber(uint8_t tag, ByteReader& in, TypeBitsReader& bits, bson::Builder& out, std::string_view name) {
  const uint32_t code = bits.take(2);
  if (tag == kZero) return readZero(code, in, bits, out, name);
  if (tag == kNaN) {
    if (code == kDecimal) out.append(name, bson::Decimal128{0, 0x7C00000000000000ULL});
    else out.append(name, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const bool negative = tag < kZero;
  if (tag == kNegativeInfinity || tag == kPositiveInfinity) {
    const double infinity = std::numeric_limits<double>::infinity();
    if (code == kDecimal)
      out.append(name, bson::Decimal128{0, negative ? 0xF800000000000000ULL : 0x7800000000000000ULL});
    else out.append(name, negative ? -infinity : infinity);
    return;
  }
  const int exponent = code == kDecimal ? readExponent(bits, in) : 0;
  const Magnitude magnitude = readMagnitude(tag, negative, in);
  if (code == kDecimal) out.append(name, toDecimal(magnitude, exponent, negative, in));
  else if (magnitude.isInteger) readInteger(magnitude, negative, code, out, name);
  else if (code == kInt64) out.append(name, std::numeric_limits<int64_t>::min());
  else out.append(name, negative ? -magnitude.real : magnitude.real);
}

}  // namespace troupe::storage::key_string
