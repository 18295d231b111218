#include "messaging/bson/compare.hpp"

#include <cmath>
#include <functional>
#include <string>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/numeric.hpp"

namespace troupe::bson {
namespace {

template <class T>
int order(const T& a, const T& b) {
  return static_cast<int>(b < a) - static_cast<int>(a < b);
}

int order(std::string_view a, std::string_view b) {
  const int c = a.compare(b);
  return static_cast<int>(c > 0) - static_cast<int>(c < 0);
}

int compareStrings(const Element& a, const Element& b, const Collator* collator) {
  return collator ? collator->compare(a.asString(), b.asString()) : order(a.asString(), b.asString());
}

int compareArrays(View a, View b, const Collator* collator) {
  auto i = a.begin(), j = b.begin();
  for (; i != a.end() && j != b.end(); ++i, ++j) {
    if (const int c = compareValues(*i, *j, collator)) return c;
  }
  return static_cast<int>(i != a.end()) - static_cast<int>(j != b.end());
}

int compareBinary(const Binary& a, const Binary& b) {
  if (const int c = order(a.bytes.size(), b.bytes.size())) return c;
  if (const int c = order(a.subtype, b.subtype)) return c;
  return order(a.bytes, b.bytes);
}

int compareRegex(const Regex& a, const Regex& b) {
  const int c = order(a.pattern, b.pattern);
  return c ? c : order(a.options, b.options);
}

int comparePointers(const DBPointer& a, const DBPointer& b) {
  if (const int c = order(a.ns.size(), b.ns.size())) return c;
  if (const int c = order(a.ns, b.ns)) return c;
  return order(a.id, b.id);
}

/// The values are of one rank.
int compareSameRank(const Element& a, const Element& b, const Collator* collator) {
  switch (a.type()) {
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128: return compareNumbers(a, b);
    case Type::kString:
    case Type::kSymbol: return compareStrings(a, b, collator);
    case Type::kDocument: return compareDocuments(a.asDocument(), b.asDocument(), collator);
    case Type::kArray: return compareArrays(a.asArray(), b.asArray(), collator);
    case Type::kBinary: return compareBinary(a.asBinary(), b.asBinary());
    case Type::kObjectId: return order(a.asObjectId(), b.asObjectId());
    case Type::kBool: return order(a.asBool(), b.asBool());
    case Type::kDate: return order(a.asDate(), b.asDate());
    case Type::kTimestamp: return order(a.asTimestamp(), b.asTimestamp());
    case Type::kRegex: return compareRegex(a.asRegex(), b.asRegex());
    case Type::kDBPointer: return comparePointers(a.asDBPointer(), b.asDBPointer());
    case Type::kCode: return order(a.asString(), b.asString());
    case Type::kCodeWithScope: {
      const int c = order(a.codeWithScopeCode(), b.codeWithScopeCode());
      return c ? c : compareDocuments(a.codeWithScopeScope(), b.codeWithScopeScope());
    }
    default: return 0;  // MinKey, undefined, null and MaxKey have one value each
  }
}

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 32);
}

uint64_t hashBytes(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

/// Integers hash as int64, all else as the double it truncates to (which decimals that differ little may share).
uint64_t hashNumber(const Element& e) {
  double value;
  if (e.is(Type::kDouble)) {
    value = e.asDouble();
  } else if (e.is(Type::kDecimal128)) {
    const Decimal128 decimal = e.asDecimal();
    const auto integer = truncatedInt64(decimal);
    if (integer && compareNumbers(*integer, decimal) == 0) return mix(1, static_cast<uint64_t>(*integer));
    value = isNaN(decimal) ? std::nan("") : truncatedToDouble(decimal).value;
  } else {
    return mix(1, static_cast<uint64_t>(e.toInt64()));
  }
  if (std::isnan(value)) return 2;
  const int64_t integer = saturatingInt64(value);
  if (compareNumbers(integer, value) == 0) return mix(1, static_cast<uint64_t>(integer));
  return mix(3, load<uint64_t>(reinterpret_cast<const char*>(&value)));
}

uint64_t hashDocument(View document, bool names, const Collator* collator) {
  uint64_t hash = 7;
  for (const Element& e : document) {
    if (names) hash = mix(hash, hashBytes(e.name()));
    hash = mix(hash, hashValue(e, collator));
  }
  return hash;
}

}  // namespace

int canonicalRank(Type type) {
  switch (type) {
    case Type::kMinKey: return -1;
    case Type::kEnd:
    case Type::kUndefined: return 0;
    case Type::kNull: return 5;
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128: return 10;
    case Type::kString:
    case Type::kSymbol: return 15;
    case Type::kDocument: return 20;
    case Type::kArray: return 25;
    case Type::kBinary: return 30;
    case Type::kObjectId: return 35;
    case Type::kBool: return 40;
    case Type::kDate: return 45;
    case Type::kTimestamp: return 47;
    case Type::kRegex: return 50;
    case Type::kDBPointer: return 55;
    case Type::kCode: return 60;
    case Type::kCodeWithScope: return 65;
    case Type::kMaxKey: return 127;
  }
  return 127;
}

int compareValues(const Element& a, const Element& b, const Collator* collator) {
  if (a.type() != b.type()) {
    if (const int c = order(canonicalRank(a.type()), canonicalRank(b.type()))) return c;
  }
  return compareSameRank(a, b, collator);
}

int compareDocuments(View a, View b, const Collator* collator) {
  auto i = a.begin(), j = b.begin();
  for (; i != a.end() && j != b.end(); ++i, ++j) {
    if (const int c = order(canonicalRank(i->type()), canonicalRank(j->type()))) return c;
    if (const int c = order(i->name(), j->name())) return c;
    if (const int c = compareSameRank(*i, *j, collator)) return c;
  }
  return static_cast<int>(i != a.end()) - static_cast<int>(j != b.end());
}

uint64_t hashValue(const Element& e, const Collator* collator) {
  const auto rank = static_cast<uint64_t>(canonicalRank(e.type()));
  if (e.isNumber()) return mix(rank, hashNumber(e));
  if (e.is(Type::kString) || e.is(Type::kSymbol))
    return mix(rank, collator ? hashBytes(collator->comparisonKey(e.asString())) : hashBytes(e.asString()));
  if (e.is(Type::kCodeWithScope))
    return mix(mix(rank, hashBytes(e.codeWithScopeCode())), hashDocument(e.codeWithScopeScope(), true, nullptr));
  if (e.isObjectLike()) return mix(rank, hashDocument(e.asDocument(), e.is(Type::kDocument), collator));
  return mix(rank, hashBytes(e.valueBytes()));
}

}  // namespace troupe::bson
