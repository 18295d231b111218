#include <algorithm>
#include <map>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/expression/paths.hpp"
#include "storage/query/interruptible_sort.hpp"

// $zip, $sortArray, $arrayToObject, $objectToArray.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

constexpr NamedArgument kZipArguments[] = {{"inputs", true, 34465}, {"defaults"}, {"useLongestLength"}};

Result zip(Arguments& arguments, const Operator&) {
  if (arguments[0].isNullish()) return Operand(nullValue());
  if (!arguments[0].is(Type::kArray))
    return Status(ErrorCode(34461), "inputs must be an array of expressions, found " + typeOf(arguments[0]));
  if (arguments.given(1) && !arguments[1].is(Type::kArray))
    return Status(ErrorCode(34462), "defaults must be an array of expressions, found " + typeOf(arguments[1]));
  if (arguments.given(2) && !arguments[2].is(Type::kBool))
    return Status(ErrorCode(34463), "useLongestLength must be a bool, found " + typeOf(arguments[2]));
  const bool longest = arguments.given(2) && arguments[2].asBool();
  if (arguments.given(1) && !longest)
    return Status(ErrorCode(34466), "cannot specify defaults unless useLongestLength is true");
  std::vector<bson::View::Iterator> inputs;
  int length = -1;
  for (const Element& input : arguments[0].asArray()) {
    if (input.isNullish()) return Operand(nullValue());
    if (!input.is(Type::kArray))
      return Status(ErrorCode(34468), "$zip found a non-array expression in input: " + show(input));
    const int count = input.asArray().count();
    length = length < 0 ? count : longest ? std::max(length, count) : std::min(length, count);
    inputs.push_back(input.asArray().begin());
  }
  if (inputs.empty()) return Status(ErrorCode(34465), "$zip requires at least one input array");
  std::vector<Element> defaults;
  if (arguments.given(1))
    for (const Element& e : arguments[1].asArray()) defaults.push_back(e);
  if (!defaults.empty() && defaults.size() != inputs.size())
    return Status(ErrorCode(34467), "defaults and inputs must have the same length");
  bson::Builder out;
  Growth growth(arguments.variables.work());
  for (int row = 0; row < length; ++row) {
    out.pushOpenArray();
    for (size_t i = 0; i < inputs.size(); ++i) {
      TROUPE_TRY(growth.to(out.size()));
      if (inputs[i]->ok()) {
        out.push(*inputs[i]);
        ++inputs[i];
      } else if (i < defaults.size()) {
        out.push(defaults[i]);
      } else {
        out.push(bson::Null{});
      }
    }
    out.close();
  }
  return Operand(out.finishArray());
}

constexpr NamedArgument kSortArguments[] = {{"input", true, 2942502}, {"sortBy", true, 2942503, true}};

Result sortArray(Arguments& arguments, const Operator&) {
  const Element input = arguments[0], by = arguments[1];
  if (input.isNullish()) return Operand(nullValue());
  if (!input.is(Type::kArray))
    return Status(ErrorCode(2942504),
                  "The input argument to $sortArray must be an array, but was of type: " + typeOf(input));
  std::vector<std::pair<ValuePath, int>> keys;
  const auto direction = [](const Element& e) {
    const auto v = exactInt32(e);
    return v && (*v == 1 || *v == -1) ? *v : 0;
  };
  if (by.is(Type::kDocument)) {
    for (const Element& key : by.asDocument()) {
      if (!direction(key))
        return Status(ErrorCode::kBadValue, "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
      if (keys.size() == kMaxSortFields)
        return Status(ErrorCode(13103), "too many compound keys: $sortArray sorts by 32 fields at most");
      keys.emplace_back(ValuePath(key.name()), direction(key));
    }
  }
  if (by.is(Type::kDocument) ? keys.empty() : !direction(by))
    return Status(ErrorCode(2942505), "The $sortArray sortBy must be 1, -1 or a document of fields with 1 or -1");
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  std::vector<Element> items;
  for (const Element& e : input.asArray()) items.push_back(e);
  const auto less = [&](const Element& a, const Element& b) {
    if (keys.empty()) return bson::compareValues(a, b, arguments.collator) * direction(by) < 0;
    for (const auto& [path, sign] : keys) {
      const Operand left = path.in(a), right = path.in(b);
      const bson::Value null = nullValue();
      const int order = bson::compareValues(left.ok() ? left.element() : null.element(),
                                            right.ok() ? right.element() : null.element(), arguments.collator);
      if (order != 0) return order * sign < 0;
    }
    return false;
  };
  TROUPE_TRY(sortStably(items, arguments.variables.work(), less, FieldComparisonSteps{keys.size()}));
  bson::Builder out;
  for (const Element& e : items) out.push(e);
  return Operand(out.finishArray());
}

Status keyFrom(const Element& key, std::string& name) {
  if (!key.is(Type::kString))
    return {
        ErrorCode(40395),
        "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: " +
            typeOf(key)};
  name = key.asString();
  if (name.find('\0') != std::string::npos)
    return {ErrorCode(4940401), "Key field cannot contain an embedded null byte"};
  return Status::OK();
}

StatusWith<Element> keyAndValue(const Element& item, Type expected, std::string& name) {
  if (item.type() != expected)
    return Status(
        ErrorCode(expected == Type::kArray ? 40396 : 40391),
        std::string(
            "$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. ") +
            (expected == Type::kArray ? "Array" : "Object") + " was detected, now found: " + typeOf(item));
  if (expected == Type::kArray) {
    const bson::View pair = item.asArray();
    if (pair.count() != 2)
      return Status(ErrorCode(40397), "$arrayToObject requires an array of size 2 arrays,found array of size: " +
                                          std::to_string(pair.count()));
    TROUPE_TRY(keyFrom(pair.first(), name));
    return *++pair.begin();
  }
  const bson::View pair = item.asDocument();
  if (pair.count() != 2)
    return Status(ErrorCode(40392),
                  "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:" +
                      std::to_string(pair.count()));
  if (!pair.has("k") || !pair.has("v"))
    return Status(
        ErrorCode(40393),
        "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: " + show(item));
  TROUPE_TRY(keyFrom(pair["k"], name));
  return pair["v"];
}

Result arrayToObject(Arguments& arguments, const Operator&) {
  const Element input = arguments[0];
  if (!input.is(Type::kArray))
    return Status(ErrorCode(40386), "$arrayToObject requires an array input, found: " + typeOf(input));
  Growth scratch(arguments.variables.work());
  TROUPE_TRY(arguments.reservePositions(scratch));
  std::vector<std::pair<std::string, Element>> fields;
  std::map<std::string, size_t> known;
  const Type format = input.asArray().first().type();
  if (!input.asArray().empty() && format != Type::kArray && format != Type::kDocument)
    return Status(ErrorCode(40398),
                  "Unrecognised input type format for $arrayToObject: " + typeOf(input.asArray().first()));
  for (const Element& item : input.asArray()) {
    TROUPE_TRY(arguments.variables.step());
    std::string name;
    TROUPE_ASSIGN(const Element value, keyAndValue(item, format, name));
    const auto [at, isNew] = known.emplace(name, fields.size());
    if (isNew) fields.emplace_back(name, value);
    else fields[at->second].second = value;
  }
  bson::Builder out;
  for (const auto& [name, value] : fields) out.append(name, value);
  return Operand(document(out.finish()));
}

Result objectToArray(Arguments& arguments, const Operator&) {
  const Element input = arguments[0];
  if (!input.is(Type::kDocument))
    return Status(ErrorCode(40390), "$objectToArray requires a document input, found: " + typeOf(input));
  bson::Builder out;
  Growth growth(arguments.variables.work());
  for (const Element& field : input.asDocument()) {
    TROUPE_TRY(growth.to(out.size()));
    out.pushDocument().append("k", field.name()).append("v", field).close();
  }
  return Operand(out.finishArray());
}

constexpr Operator kSequencesOperators[] = {
    {.name = "$zip",
     .function = zip,
     .named = kZipArguments,
     .errors = {.notDocument = 34460, .unknownArgument = 34464}},
    {.name = "$sortArray",
     .function = sortArray,
     .named = kSortArguments,
     .errors = {.notDocument = 2942500, .unknownArgument = 2942501}},
    {.name = "$arrayToObject", .minArity = 1, .maxArity = 1, .function = arrayToObject, .nullIfNull = true},
    {.name = "$objectToArray", .minArity = 1, .maxArity = 1, .function = objectToArray, .nullIfNull = true},
};

}  // namespace

std::span<const Operator> sequenceOperators() { return kSequencesOperators; }

}  // namespace troupe::query
