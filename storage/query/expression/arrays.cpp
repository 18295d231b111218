#include <algorithm>
#include <limits>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/interruptible_sort.hpp"

// Operators that look into arrays and make arrays from arrays.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

Element elementAt(bson::View array, int64_t index) {
  if (index < 0) index += array.count();
  if (index < 0) return {};
  for (const Element& e : array)
    if (index-- == 0) return e;
  return {};
}

/// An element of an argument's array; copied when the argument owns its bytes, which end with the call.
Operand within(const Operand& argument, const Element& e) {
  return argument.owned() ? Operand(bson::Value(e)) : Operand(e);
}

Result arrayElementAt(Arguments& arguments, const Operator&) {
  const Element array = arguments[0], index = arguments[1];
  if (array.isNullish() || index.isNullish()) return Operand(nullValue());
  if (!array.is(Type::kArray))
    return Status(ErrorCode(28689), "$arrayElemAt's first argument must be an array, but is " + typeOf(array));
  if (!index.isNumber())
    return Status(ErrorCode(28690), "$arrayElemAt's second argument must be a numeric value, but is " + typeOf(index));
  const auto at = exactInt32(index);
  if (!at)
    return Status(ErrorCode(28691),
                  "$arrayElemAt's second argument must be representable as a 32-bit integer: " + show(index));
  return within(arguments.at(0), elementAt(array.asArray(), *at));
}

Result firstOrLast(Arguments& arguments, const Operator& op) {
  const Element array = arguments[0];
  if (array.isNullish()) return Operand(nullValue());
  if (!array.is(Type::kArray))
    return Status(ErrorCode(28689), std::string(op.name) + "'s argument must be an array, but is " + typeOf(array));
  return within(arguments.at(0), elementAt(array.asArray(), op.name == "$first" ? 0 : -1));
}

Result concatArrays(Arguments& arguments, const Operator&) {
  bson::Builder out;
  Growth growth(arguments.variables.work());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Element e = arguments[i];
    if (e.isNullish()) return Operand(nullValue());
    if (!e.is(Type::kArray)) return Status(ErrorCode(28664), "$concatArrays only supports arrays, not " + typeOf(e));
    TROUPE_TRY(growth.reserve(out.size() + e.valueSize()));
    for (const Element& item : e.asArray()) {
      TROUPE_TRY(growth.to(out.size()));
      out.push(item);
    }
  }
  return Operand(out.finishArray());
}

Result in(Arguments& arguments, const Operator&) {
  if (!arguments[1].is(Type::kArray))
    return Status(ErrorCode(40081), "$in requires an array as a second argument, found: " + typeOf(arguments[1]));
  const Element wanted = arguments[0];
  for (const Element& item : arguments[1].asArray()) {
    TROUPE_TRY(arguments.variables.step());
    if (bson::compareValues(item, wanted, arguments.collator) == 0) return Operand(boolean(true));
  }
  return Operand(boolean(false));
}

Result indexOfArray(Arguments& arguments, const Operator&) {
  if (arguments[0].isNullish()) return Operand(nullValue());
  if (!arguments[0].is(Type::kArray))
    return Status(ErrorCode(40090),
                  "$indexOfArray requires an array as a first argument, found: " + typeOf(arguments[0]));
  int64_t bounds[2] = {0, std::numeric_limits<int32_t>::max()};
  for (size_t i = 2; i < arguments.size(); ++i) {
    const char* what = i == 2 ? "starting" : "ending";
    const auto v = exactInt32(arguments[i]);
    if (!v)
      return Status(ErrorCode(40096), std::string("$indexOfArray requires an integral ") + what +
                                          " index, found a value of type: " + typeOf(arguments[i]) +
                                          ", with value: " + show(arguments[i]));
    if (*v < 0)
      return Status(ErrorCode(40097), std::string("$indexOfArray requires a nonnegative ") + what +
                                          " index, found: " + std::to_string(*v));
    bounds[i - 2] = *v;
  }
  int64_t at = 0;
  for (const Element& item : arguments[0].asArray()) {
    if (at >= bounds[1]) break;
    TROUPE_TRY(arguments.variables.step());
    if (at >= bounds[0] && bson::compareValues(item, arguments[1], arguments.collator) == 0)
      return Operand(integer(at));
    ++at;
  }
  return Operand(int32(-1));
}

Result isArray(Arguments& arguments, const Operator&) { return Operand(boolean(arguments[0].is(Type::kArray))); }

StatusWith<int32_t> rangeBound(const Element& e, const char* what, int code) {
  if (!e.isNumber())
    return Status(ErrorCode(code),
                  std::string("$range requires a numeric ") + what + " value, found value of type: " + typeOf(e));
  const auto v = exactInt32(e);
  if (!v)
    return Status(ErrorCode(code + 1),
                  std::string("$range requires a") + (*what == 'e' ? "n " : " ") + what +
                      " value that can be represented as a 32-bit integer, found value: " + show(e));
  return *v;
}

Result range(Arguments& arguments, const Operator&) {
  TROUPE_ASSIGN(const int64_t from, rangeBound(arguments[0], "starting", 34443));
  TROUPE_ASSIGN(const int64_t to, rangeBound(arguments[1], "ending", 34445));
  int64_t step = 1;
  if (arguments.size() > 2) {
    TROUPE_ASSIGN(step, rangeBound(arguments[2], "step", 34447));
    if (step == 0) return Status(ErrorCode(34449), "$range requires a non-zero step value");
  }
  if ((to - from) / step > 8 * 1024 * 1024)
    return Status(ErrorCode::kExceededMemoryLimit, "$range would use too much memory and was killed");
  bson::Builder out;
  Growth growth(arguments.variables.work());
  for (int64_t v = from; step > 0 ? v < to : v > to; v += step) {
    TROUPE_TRY(growth.to(out.size()));
    out.push(static_cast<int32_t>(v));
  }
  return Operand(out.finishArray());
}

std::vector<Element> items(bson::View array) {
  std::vector<Element> result;
  for (const Element& e : array) result.push_back(e);
  return result;
}

bson::Value arrayOf(std::span<const Element> elements) {
  bson::Builder out;
  for (const Element& e : elements) out.push(e);
  return out.finishArray();
}

Result reverseArray(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (!e.is(Type::kArray))
    return Status(ErrorCode(34435), "The argument to $reverseArray must be an array, but was of type: " + typeOf(e));
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  auto all = items(e.asArray());
  std::reverse(all.begin(), all.end());
  return Operand(arrayOf(all));
}

Result size(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (!e.is(Type::kArray))
    return Status(ErrorCode(17124), "The argument to $size must be an array, but was of type: " + typeOf(e));
  return Operand(int32(e.asArray().count()));
}

Result slice(Arguments& arguments, const Operator&) {
  if (arguments.anyNullish()) return Operand(nullValue());
  if (!arguments[0].is(Type::kArray))
    return Status(ErrorCode(28724),
                  "First argument to $slice must be an array, but is of type: " + typeOf(arguments[0]));
  int64_t numbers[2] = {0, 0};
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string which = i == 1 ? "Second" : "Third";
    const int base = i == 1 ? 28725 : 28727;
    if (!arguments[i].isNumber())
      return Status(ErrorCode(base),
                    which + " argument to $slice must be a numeric value, but is of type: " + typeOf(arguments[i]));
    const auto v = exactInt32(arguments[i]);
    if (!v)
      return Status(ErrorCode(base + 1),
                    which + " argument to $slice can't be represented as a 32-bit integer: " + show(arguments[i]));
    numbers[i - 1] = *v;
  }
  if (arguments.size() == 3 && numbers[1] <= 0)
    return Status(ErrorCode(28729), "Third argument to $slice must be positive: " + show(arguments[2]));
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  const auto all = items(arguments[0].asArray());
  const auto count = static_cast<int64_t>(all.size());
  int64_t from = 0, length = 0;
  if (arguments.size() == 2) {
    length = std::min(std::abs(numbers[0]), count);
    from = numbers[0] < 0 ? count - length : 0;
  } else {
    from = numbers[0] < 0 ? std::max<int64_t>(0, count + numbers[0]) : std::min(numbers[0], count);
    length = std::min(numbers[1], count - from);
  }
  return Operand(arrayOf(std::span(all).subspan(static_cast<size_t>(from), static_cast<size_t>(length))));
}

constexpr NamedArgument kNArguments[] = {{"n", true}, {"input", true}};

Result firstOrLastN(Arguments& arguments, const Operator& op) {
  const std::string name(op.name);
  const auto n = exactInt64(arguments[0]);
  if (!n) return Status(ErrorCode(5787902), "Value for 'n' must be of integral type, but found " + show(arguments[0]));
  if (*n <= 0) return Status(ErrorCode(5787908), "'n' must be greater than 0, found " + std::to_string(*n));
  if (!arguments[1].is(Type::kArray)) return Status(ErrorCode(5788200), "Input must be an array");
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  auto all = items(arguments[1].asArray());
  const auto count = std::min<size_t>(static_cast<size_t>(*n), all.size());
  if (op.name == "$firstN") return Operand(arrayOf(std::span(all).first(count)));
  if (op.name == "$lastN") return Operand(arrayOf(std::span(all).last(count)));
  std::erase_if(all, [](const Element& e) { return e.isNullish(); });
  const bool largest = op.name == "$maxN";
  TROUPE_TRY(sortStably(all, arguments.variables.work(), [&](const Element& a, const Element& b) {
    const int order = bson::compareValues(a, b, arguments.collator);
    return largest ? order > 0 : order < 0;
  }));
  return Operand(arrayOf(std::span(all).first(std::min(count, all.size()))));
}

constexpr Operator exactly(std::string_view name, int arity, Function function) {
  return {.name = name, .minArity = arity, .maxArity = arity, .function = function};
}
constexpr Operator ofN(std::string_view name) { return {.name = name, .function = firstOrLastN, .named = kNArguments}; }

constexpr Operator kArraysOperators[] = {
    exactly("$arrayElemAt", 2, arrayElementAt),
    exactly("$first", 1, firstOrLast),
    exactly("$last", 1, firstOrLast),
    {.name = "$concatArrays", .maxArity = Operator::kAny, .function = concatArrays},
    exactly("$in", 2, in),
    {.name = "$indexOfArray", .minArity = 2, .maxArity = 4, .function = indexOfArray},
    exactly("$isArray", 1, isArray),
    {.name = "$range", .minArity = 2, .maxArity = 3, .function = range},
    {.name = "$reverseArray", .minArity = 1, .maxArity = 1, .function = reverseArray, .nullIfNull = true},
    exactly("$size", 1, size),
    {.name = "$slice", .minArity = 2, .maxArity = 3, .function = slice},
    ofN("$firstN"),
    ofN("$lastN"),
    ofN("$maxN"),
    ofN("$minN"),
};

}  // namespace

std::span<const Operator> arrayOperators() { return kArraysOperators; }

}  // namespace troupe::query
