#include <algorithm>
#include <set>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/interruptible_sort.hpp"

// Operators on arrays as sets: order and repetition do not count. Results come in the order of all values.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

struct Less {
  const bson::Collator* collator;
  bool operator()(const Element& a, const Element& b) const { return bson::compareValues(a, b, collator) < 0; }
};

using Set = std::vector<Element>;

/// Sorted, without repetition. Errors: those of an interrupt.
StatusWith<Set> setOf(const Element& array, const Arguments& arguments) {
  Set set;
  for (const Element& e : array.asArray()) set.push_back(e);
  const Less less{arguments.collator};
  TROUPE_TRY(sortStably(set, arguments.variables.work(), less));
  set.erase(std::unique(set.begin(), set.end(), [&](const Element& a, const Element& b) { return !less(a, b); }),
            set.end());
  return set;
}

bson::Value arrayOf(const Set& set) {
  bson::Builder out;
  for (const Element& e : set) out.push(e);
  return out.finishArray();
}

Status arraysOnly(const Operator& op, const Element& e, int code) {
  return {ErrorCode(code),
          "All operands of " + std::string(op.name) + " must be arrays. One argument is of type: " + typeOf(e)};
}

Result unionOrIntersection(Arguments& arguments, const Operator& op) {
  const bool isUnion = op.name == "$setUnion";
  const Less less{arguments.collator};
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  Set result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isNullish()) return Operand(nullValue());
    if (!arguments[i].is(Type::kArray)) return arraysOnly(op, arguments[i], isUnion ? 17043 : 17047);
    TROUPE_ASSIGN(Set set, setOf(arguments[i], arguments));
    if (i == 0) {
      result = std::move(set);
      continue;
    }
    Set merged;
    if (isUnion) std::set_union(result.begin(), result.end(), set.begin(), set.end(), std::back_inserter(merged), less);
    else std::set_intersection(result.begin(), result.end(), set.begin(), set.end(), std::back_inserter(merged), less);
    result = std::move(merged);
  }
  return Operand(arrayOf(result));
}

Result difference(Arguments& arguments, const Operator&) {
  if (arguments.anyNullish()) return Operand(nullValue());
  for (size_t i = 0; i < 2; ++i)
    if (!arguments[i].is(Type::kArray))
      return Status(ErrorCode(i == 0 ? 17048 : 17049), std::string("both operands of $setDifference must be arrays. ") +
                                                           (i == 0 ? "First" : "Second") +
                                                           " argument is of type: " + typeOf(arguments[i]));
  const Less less{arguments.collator};
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  std::set<Element, Less> seen(less);
  Set result;
  for (const Element& e : arguments[1].asArray()) {
    TROUPE_TRY(arguments.variables.step());
    seen.insert(e);
  }
  for (const Element& e : arguments[0].asArray()) {  // keeps the first operand's order
    TROUPE_TRY(arguments.variables.step());
    if (seen.insert(e).second) result.push_back(e);
  }
  return Operand(arrayOf(result));
}

Result equals(Arguments& arguments, const Operator& op) {
  const Less less{arguments.collator};
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  Set first;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is(Type::kArray)) return arraysOnly(op, arguments[i], 17044);
    TROUPE_ASSIGN(Set set, setOf(arguments[i], arguments));
    if (i == 0) {
      first = std::move(set);
      continue;
    }
    const bool same = first.size() == set.size() &&
                      std::equal(first.begin(), first.end(), set.begin(),
                                 [&](const Element& a, const Element& b) { return !less(a, b) && !less(b, a); });
    if (!same) return Operand(boolean(false));
  }
  return Operand(boolean(true));
}

Result isSubset(Arguments& arguments, const Operator&) {
  for (size_t i = 0; i < 2; ++i)
    if (!arguments[i].is(Type::kArray))
      return Status(ErrorCode(i == 0 ? 17046 : 17042), std::string("both operands of $setIsSubset must be arrays. ") +
                                                           (i == 0 ? "First" : "Second") +
                                                           " argument is of type: " + typeOf(arguments[i]));
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  TROUPE_ASSIGN(const Set small, setOf(arguments[0], arguments));
  TROUPE_ASSIGN(const Set large, setOf(arguments[1], arguments));
  return Operand(
      boolean(std::includes(large.begin(), large.end(), small.begin(), small.end(), Less{arguments.collator})));
}

Result elementsTrue(Arguments& arguments, const Operator& op) {
  const bool all = op.name == "$allElementsTrue";
  const Element e = arguments[0];
  if (!e.is(Type::kArray))
    return Status(ErrorCode(all ? 17040 : 17041),
                  std::string(op.name) + "'s argument must be an array, but is " + typeOf(e));
  for (const Element& item : e.asArray())
    if (isTrue(item) != all) return Operand(boolean(!all));
  return Operand(boolean(all));
}

constexpr Operator kSetsOperators[] = {
    {.name = "$setUnion", .maxArity = Operator::kAny, .function = unionOrIntersection},
    {.name = "$setIntersection", .maxArity = Operator::kAny, .function = unionOrIntersection},
    {.name = "$setEquals", .minArity = 2, .maxArity = Operator::kAny, .function = equals},
    {.name = "$setDifference", .minArity = 2, .maxArity = 2, .function = difference},
    {.name = "$setIsSubset", .minArity = 2, .maxArity = 2, .function = isSubset},
    {.name = "$allElementsTrue", .minArity = 1, .maxArity = 1, .function = elementsTrue},
    {.name = "$anyElementTrue", .minArity = 1, .maxArity = 1, .function = elementsTrue},
};

}  // namespace

std::span<const Operator> setOperators() { return kSetsOperators; }

}  // namespace troupe::query
