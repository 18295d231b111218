#include "storage/query/plan/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "messaging/bson/compare.hpp"
#include "storage/index/document_text.hpp"
#include "storage/query/interruptible_sort.hpp"

namespace troupe::query {

namespace {

using bson::Type;
using bson::Value;

int compare(const Value& a, const Value& b) { return bson::compareValues(a.element(), b.element()); }

/// Orders the lower ends: an inclusive one comes first.
int compareLows(const Interval& a, const Interval& b) {
  const int order = compare(a.low, b.low);
  return order != 0 ? order : static_cast<int>(b.lowInclusive) - static_cast<int>(a.lowInclusive);
}

int compareHighs(const Interval& a, const Interval& b) {
  const int order = compare(a.high, b.high);
  return order != 0 ? order : static_cast<int>(a.highInclusive) - static_cast<int>(b.highInclusive);
}

bool isEmpty(const Interval& i) {
  const int order = compare(i.low, i.high);
  return order > 0 || (order == 0 && !(i.lowInclusive && i.highInclusive));
}

/// Whether nothing lies between the end of `a` and the beginning of `b`, which does not begin before `a`.
bool meets(const Interval& a, const Interval& b) {
  const int order = compare(b.low, a.high);
  return order < 0 || (order == 0 && (a.highInclusive || b.lowInclusive));
}

size_t bytesOf(const Interval& i) { return i.low.valueBytes().size() + i.high.valueBytes().size(); }

bool goesOn(QueryWork* work, int64_t steps) { return !work || work->step(steps).isOK(); }

Value empty(Type type) { return type == Type::kArray ? Value::array(bson::View()) : Value(bson::View()); }

std::string textOf(const Value& value, bool collated) {
  if (collated && value.type() == Type::kString) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string hex = "CollationKey(0x";
    for (const char c : value.element().asString()) (hex += kHex[static_cast<uint8_t>(c) >> 4]) += kHex[c & 15];
    return hex + ")";
  }
  bson::Builder named;
  named.append("", value);
  const std::string text = storage::documentText(named.finish());  // "{ : 5 }"
  return text.substr(4, text.size() - 6);
}

template <class T>
Interval between(const T& low, const T& high) {
  return {Value(low), Value(high), true, true};
}

bson::ObjectId objectId(uint8_t byte) {
  bson::ObjectId id;
  id.bytes.fill(byte);
  return id;
}

}  // namespace

Interval Interval::point(const bson::Element& value) { return {Value(value), Value(value), true, true}; }

Interval Interval::all() { return {Value(bson::MinKey{}), Value(bson::MaxKey{}), true, true}; }

bool Interval::isPoint() const { return lowInclusive && highInclusive && compare(low, high) == 0; }

bool Interval::isAll() const {
  return low.type() == Type::kMinKey && high.type() == Type::kMaxKey && lowInclusive && highInclusive;
}

std::string Interval::text(bool collated) const {
  return (lowInclusive ? "[" : "(") + textOf(low, collated) + ", " + textOf(high, collated) +
         (highInclusive ? "]" : ")");
}

bool isAll(const Intervals& intervals) { return intervals.size() == 1 && intervals.front().isAll(); }

bool arePoints(const Intervals& intervals) {
  return std::all_of(intervals.begin(), intervals.end(), [](const Interval& i) { return i.isPoint(); });
}

Intervals unite(Intervals intervals, QueryWork* work) {
  std::vector<Interval*> sorted;
  for (Interval& i : intervals) {
    if (!goesOn(work, stepsFor(bytesOf(i)))) return {};
    if (!isEmpty(i)) sorted.push_back(&i);
  }
  const auto less = [](const Interval* a, const Interval* b) { return compareLows(*a, *b) < 0; };
  const auto steps = [](const Interval* a, const Interval* b) { return stepsOfComparing(bytesOf(*a), bytesOf(*b)); };
  if (!sortStably(sorted, work, less, steps).isOK()) return {};
  Intervals out;
  for (Interval* const one : sorted) {
    Interval& next = *one;
    if (!goesOn(work, stepsFor(bytesOf(next)))) return {};
    if (out.empty() || !meets(out.back(), next)) {
      out.push_back(std::move(next));
    } else if (compareHighs(next, out.back()) > 0) {
      out.back().high = std::move(next.high);
      out.back().highInclusive = next.highInclusive;
    }
  }
  return out;
}

Intervals intersect(const Intervals& a, const Intervals& b, QueryWork* work) {
  Intervals out;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (!goesOn(work, stepsFor(bytesOf(a[i]) + bytesOf(b[j])))) return {};
    const Interval& low = compareLows(a[i], b[j]) >= 0 ? a[i] : b[j];
    const bool aEndsFirst = compareHighs(a[i], b[j]) <= 0;
    const Interval& high = aEndsFirst ? a[i] : b[j];
    Interval common{low.low, high.high, low.lowInclusive, high.highInclusive};
    if (!isEmpty(common)) out.push_back(std::move(common));
    ++(aEndsFirst ? i : j);
  }
  return out;
}

Intervals complement(const Intervals& intervals, QueryWork* work) {
  Intervals out;
  Interval gap = Interval::all();
  for (const Interval& i : intervals) {
    if (!goesOn(work, stepsFor(bytesOf(i)))) return {};
    out.push_back({gap.low, i.low, gap.lowInclusive, !i.lowInclusive});
    gap.low = i.high;
    gap.lowInclusive = !i.highInclusive;
  }
  out.push_back(std::move(gap));
  std::erase_if(out, isEmpty);
  return out;
}

Interval typeBracket(Type type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (type) {
    case Type::kDouble:
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDecimal128: return between(-kInfinity, kInfinity);
    case Type::kString:
    case Type::kSymbol: return {Value(""), empty(Type::kDocument), true, false};
    case Type::kDocument: return {empty(Type::kDocument), empty(Type::kArray), true, false};
    case Type::kArray: return {empty(Type::kArray), Value(bson::Binary{0, {}}), true, false};
    case Type::kBinary: return {Value(bson::Binary{0, {}}), Value(objectId(0)), true, false};
    case Type::kObjectId: return between(objectId(0), objectId(0xFF));
    case Type::kBool: return between(false, true);
    case Type::kDate: return between(bson::Date{INT64_MIN}, bson::Date{INT64_MAX});
    case Type::kTimestamp: return between(bson::Timestamp{}, bson::Timestamp{UINT32_MAX, UINT32_MAX});
    case Type::kRegex: return {Value(bson::Regex{}), Value(bson::DBPointer{}), true, false};
    case Type::kDBPointer: return {Value(bson::DBPointer{}), Value(bson::Code{}), true, false};
    case Type::kCode:
    case Type::kCodeWithScope: return {Value(bson::Code{}), Value(bson::MaxKey{}), true, false};
    case Type::kUndefined: return between(bson::Undefined{}, bson::Undefined{});
    case Type::kNull: return between(bson::Null{}, bson::Null{});
    default: return Interval::all();
  }
}

}  // namespace troupe::query
