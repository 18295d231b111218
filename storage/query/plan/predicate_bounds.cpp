#include "storage/query/plan/predicate_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/compare.hpp"
#include "messaging/bson/numeric.hpp"
#include "storage/query/match/predicates.hpp"
#include "storage/query/match/regex.hpp"

namespace troupe::query {

namespace {

using bson::Element;
using bson::Type;
using bson::Value;
using Bounds = std::optional<PredicateBounds>;

bool isNaN(const Element& e) {
  return (e.is(Type::kDouble) && std::isnan(e.asDouble())) || (e.is(Type::kDecimal128) && bson::isNaN(e.asDecimal()));
}

bool isBoundless(Type type) { return type == Type::kMinKey || type == Type::kMaxKey; }

PredicateBounds allValues() { return {{Interval::all()}, Tightness::kInexactFetch}; }

void worsen(Tightness& tightness, Tightness by) { tightness = std::max(tightness, by); }

class BoundsMaker {
 public:
  explicit BoundsMaker(const BoundsContext& context) : context_(context) {}

  Bounds make(const MatchExpression& node) const {
    switch (node.kind()) {
      case MatchKind::kEq: return equal(node.operand());
      case MatchKind::kLt:
      case MatchKind::kLte:
      case MatchKind::kGt:
      case MatchKind::kGte: return context_.hashed ? Bounds() : range(node.kind(), node.operand());
      case MatchKind::kIn: return in(node.operand());
      case MatchKind::kRegex: return context_.hashed ? Bounds() : regex(node.operand().asRegex());
      case MatchKind::kExists: return allValues();
      case MatchKind::kMod:
        return context_.hashed ? Bounds() : Bounds({{typeBracket(Type::kDouble)}, Tightness::kInexactCovered});
      case MatchKind::kType: return context_.hashed ? Bounds() : types(node.operand());
      case MatchKind::kNot: return context_.hashed ? Bounds() : negated(*node.children().front());
      case MatchKind::kElemMatchValue: return context_.hashed ? Bounds() : element(*node.children().front());
      default: return {};
    }
  }

 private:
  /// The value as it is in the index.
  Value indexed(const Element& e) const {
    return context_.collator ? bson::withComparisonKeys(e, *context_.collator) : Value(e);
  }

  PredicateBounds nothing() const {
    return {unite({typeBracket(Type::kUndefined), typeBracket(Type::kNull)}, context_.work), Tightness::kInexactFetch};
  }

  Interval hash(const Element& e) const {
    return Interval::point(Value(static_cast<int64_t>(bson::hashValue(e, context_.collator))).element());
  }

  Bounds equal(const Element& e) const {
    if (e.isNullish()) return context_.hashed ? Bounds() : Bounds(nothing());
    if (context_.hashed) return e.is(Type::kArray) ? Bounds() : Bounds({{hash(e)}, Tightness::kInexactFetch});
    if (!e.is(Type::kArray)) return PredicateBounds{{Interval::point(indexed(e).element())}, Tightness::kExact};
    // An array is found by its first element, or as an element of another array.
    const Element first = e.asArray().first();
    const Interval byElement = first ? Interval::point(indexed(first).element()) : typeBracket(Type::kUndefined);
    Intervals both{byElement, Interval::point(indexed(e).element())};
    return PredicateBounds{unite(std::move(both), context_.work), Tightness::kInexactFetch};
  }

  Bounds range(MatchKind op, const Element& e) const {
    const bool inclusive = op == MatchKind::kLte || op == MatchKind::kGte;
    if (isBoundless(e.type()) || e.is(Type::kArray)) return allValues();
    if (e.isNullish()) return inclusive ? Bounds(nothing()) : Bounds(PredicateBounds{});
    if (isNaN(e)) return inclusive ? equal(e) : Bounds(PredicateBounds{});
    Interval interval = typeBracket(e.type());
    if (op == MatchKind::kLt || op == MatchKind::kLte) {
      interval.high = indexed(e);
      interval.highInclusive = inclusive;
    } else {
      interval.low = indexed(e);
      interval.lowInclusive = inclusive;
    }
    // The bracket of code is shared by code with scope, which does not compare with it.
    const bool shared = e.is(Type::kCode) || e.is(Type::kCodeWithScope);
    return PredicateBounds{unite({std::move(interval)}, context_.work),
                           shared ? Tightness::kInexactFetch : Tightness::kExact};
  }

  Bounds in(const Element& array) const {
    PredicateBounds out;
    for (const Element& e : array.asArray()) {
      if (!goesOn()) return {};
      const Bounds one = e.is(Type::kRegex) ? (context_.hashed ? Bounds() : regex(e.asRegex())) : equal(e);
      if (!one) return {};
      out.intervals.insert(out.intervals.end(), one->intervals.begin(), one->intervals.end());
      worsen(out.tightness, one->tightness);
    }
    out.intervals = unite(std::move(out.intervals), context_.work);
    return out;
  }

  Bounds regex(const bson::Regex& regex) const {
    Interval strings = typeBracket(Type::kString);
    PredicateBounds out{{}, context_.collator ? Tightness::kInexactFetch : Tightness::kInexactCovered};
    std::string prefix = context_.collator ? std::string() : literalPrefix(regex.pattern, regex.options);
    if (!prefix.empty()) {
      strings.low = Value(prefix);
      if (static_cast<uint8_t>(prefix.back()) < 0x7E) {
        ++prefix.back();
        strings.high = Value(prefix);
      }
    }
    out.intervals = unite({std::move(strings), Interval::point(Value(regex).element())}, context_.work);
    return out;
  }

  Bounds types(const Element& operand) const {
    static constexpr Type kAll[] = {
        Type::kDouble, Type::kString, Type::kDocument, Type::kBinary,    Type::kUndefined,     Type::kObjectId,
        Type::kBool,   Type::kDate,   Type::kNull,     Type::kRegex,     Type::kDBPointer,     Type::kCode,
        Type::kSymbol, Type::kInt32,  Type::kInt64,    Type::kTimestamp, Type::kCodeWithScope, Type::kDecimal128};
    TypeSet set;
    if (!set.add(operand, "").isOK() || set.contains(Type::kArray) || set.contains(Type::kMinKey) ||
        set.contains(Type::kMaxKey))
      return allValues();
    PredicateBounds out{{}, Tightness::kInexactFetch};
    for (const Type type : kAll) {
      if (!set.contains(type)) continue;
      out.intervals.push_back(typeBracket(type));
      if (out.intervals.back().low.element().isNumber()) {
        out.intervals.push_back(Interval::point(Value(std::numeric_limits<double>::quiet_NaN()).element()));
      }
    }
    out.intervals = unite(std::move(out.intervals), context_.work);
    return out;
  }

  /// Only what the positive form says exactly, or nearly so, can be turned round.
  Bounds negated(const MatchExpression& node) const {
    const Element e = node.operand();
    const auto plain = [](const Element& value) {
      return !value.isNullish() && !value.is(Type::kArray) && !value.is(Type::kRegex);
    };
    switch (node.kind()) {
      case MatchKind::kExists: return nothing();
      case MatchKind::kEq:
        if (e.isNullish()) {
          if (context_.multikey) return {};
          return PredicateBounds{complement({typeBracket(Type::kNull)}, context_.work), Tightness::kInexactFetch};
        }
        if (!plain(e)) return {};
        break;
      case MatchKind::kLt:
      case MatchKind::kLte:
      case MatchKind::kGt:
      case MatchKind::kGte:
        if (!plain(e) || isBoundless(e.type())) return {};
        break;
      case MatchKind::kIn: {
        const bson::View array = e.asArray();
        if (!std::all_of(array.begin(), array.end(), plain)) return {};
        break;
      }
      default: return {};
    }
    Bounds positive = make(node);
    if (!positive || positive->tightness != Tightness::kExact) return {};
    positive->intervals = complement(positive->intervals, context_.work);
    if (context_.multikey) positive->tightness = Tightness::kInexactFetch;
    return positive;
  }

  /// All conditions are on the same element, thus on the same key.
  Bounds element(const MatchExpression& node) const {
    PredicateBounds out = allValues();
    if (node.kind() != MatchKind::kAnd) {
      if (!node.path().empty() || node.kind() == MatchKind::kElemMatchObject ||
          node.kind() == MatchKind::kElemMatchValue)
        return out;
      BoundsContext single = context_;
      single.multikey = false;
      if (const Bounds one = BoundsMaker(single).make(node)) out.intervals = one->intervals;
      return out;
    }
    // Each is compared with all that the others left: a few narrow the scan, and the rest is tested anyway.
    size_t left = kMostOfOneElement;
    for (const auto& child : node.children()) {
      if (left-- == 0 || !goesOn()) return out;
      out.intervals = intersect(out.intervals, element(*child)->intervals, context_.work);
    }
    return out;
  }

  /// False once the operation has to end: what is made of the rest means nothing then, for the interrupt is asked for
  /// at the end.
  bool goesOn() const { return !context_.work || context_.work->step().isOK(); }

  static constexpr size_t kMostOfOneElement = 64;
  const BoundsContext& context_;
};

bool holdsString(const Element& e) {
  if (e.is(Type::kString) || e.is(Type::kSymbol)) return true;
  if (!e.isObjectLike()) return false;
  const bson::View items = e.asDocument();
  return std::any_of(items.begin(), items.end(), holdsString);
}

}  // namespace

StatusWith<std::optional<PredicateBounds>> boundsOf(const MatchExpression& node, const BoundsContext& context) {
  Bounds bounds = BoundsMaker(context).make(node);
  if (context.work) TROUPE_TRY(context.work->step());
  // A key of a multikey index is one value among several: it cannot answer for all of them.
  if (bounds && context.multikey && bounds->tightness == Tightness::kInexactCovered)
    bounds->tightness = Tightness::kInexactFetch;
  return bounds;
}

bool comparesStrings(const MatchExpression& node) {
  return holdsString(node.operand()) || std::any_of(node.children().begin(), node.children().end(),
                                                    [](const auto& child) { return comparesStrings(*child); });
}

}  // namespace troupe::query
