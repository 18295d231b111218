#include <algorithm>
#include <limits>

#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/expression/text.hpp"
#include "storage/query/expression/text_search.hpp"

// Operators that make, cut and change strings.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;
using std::literals::operator""sv;

int64_t codePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !isContinuation(c); });
}

size_t byteOfCodePoint(std::string_view text, int64_t n) {
  size_t at = 0;
  for (; n > 0 && at < text.size(); --n) {
    ++at;
    while (at < text.size() && isContinuation(text[at])) ++at;
  }
  return at;
}

namespace {

bson::Value lowerOrUpper(std::string s, bool lower) {
  for (char& c : s)
    if (lower ? (c >= 'A' && c <= 'Z') : (c >= 'a' && c <= 'z')) c = static_cast<char>(c ^ 0x20);
  return text(s);
}

Result concat(Arguments& arguments, const Operator&) {
  size_t whole = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Element e = arguments[i];
    if (e.isNullish()) return Operand(nullValue());
    if (!e.is(Type::kString)) return Status(ErrorCode(16702), "$concat only supports strings, not " + typeOf(e));
    whole += e.asString().size();
  }
  Growth growth(arguments.variables.work());
  TROUPE_TRY(growth.reserve(whole));
  std::string result;
  result.reserve(whole);
  for (size_t i = 0; i < arguments.size(); ++i) result.append(arguments[i].asString());
  return Operand(text(result));
}

Result toLower(Arguments& arguments, const Operator&) {
  TROUPE_ASSIGN(auto s, coerceToString(arguments[0]));
  return Operand(lowerOrUpper(std::move(s), true));
}

Result toUpper(Arguments& arguments, const Operator&) {
  TROUPE_ASSIGN(auto s, coerceToString(arguments[0]));
  return Operand(lowerOrUpper(std::move(s), false));
}

Result compareIgnoringCase(Arguments& arguments, const Operator&) {
  TROUPE_ASSIGN(const auto a, coerceToString(arguments[0]));
  TROUPE_ASSIGN(const auto b, coerceToString(arguments[1]));
  const auto lower = [](char c) { return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c ^ 0x20 : c); };
  const auto [left, right] =
      std::mismatch(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
  if (left == a.end() || right == b.end()) return Operand(int32((left != a.end()) - (right != b.end())));
  return Operand(int32(lower(*left) < lower(*right) ? -1 : 1));
}

Result substringOfBytes(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const auto s, coerceToString(arguments[0]));
  const std::string name(op.name == "$substr" ? "$substrBytes" : op.name);
  if (!arguments[1].isNumber())
    return Status(ErrorCode(16034),
                  name + ":  starting index must be a numeric type (is BSON type " + typeOf(arguments[1]) + ")");
  if (!arguments[2].isNumber())
    return Status(ErrorCode(16035),
                  name + ":  length must be a numeric type (is BSON type " + typeOf(arguments[2]) + ")");
  TROUPE_ASSIGN(const int64_t from, coerceToLong(arguments[1]));
  TROUPE_ASSIGN(const int64_t length, coerceToLong(arguments[2]));
  if (from < 0)
    return Status(ErrorCode(50752),
                  name + ":  starting index must be non-negative (got: " + std::to_string(from) + ")");
  const auto begin = static_cast<size_t>(from);
  if (begin >= s.size()) return Operand(text(""));
  const size_t count = length < 0 ? s.size() - begin : std::min<size_t>(static_cast<size_t>(length), s.size() - begin);
  if (isContinuation(s[begin]))
    return Status(ErrorCode(28656), name + ":  Invalid range, starting index is a UTF-8 continuation byte.");
  if (begin + count < s.size() && isContinuation(s[begin + count]))
    return Status(ErrorCode(28657), name + ":  Invalid range, ending index is in the middle of a UTF-8 character.");
  return Operand(text(std::string_view(s).substr(begin, count)));
}

Result substringOfCodePoints(Arguments& arguments, const Operator&) {
  TROUPE_ASSIGN(const auto s, coerceToString(arguments[0]));
  const auto index = [&](size_t i, const char* what, int notNumber) -> StatusWith<int32_t> {
    if (!arguments[i].isNumber())
      return Status(ErrorCode(notNumber), std::string("$substrCP: ") + what + " must be a numeric type (is BSON type " +
                                              typeOf(arguments[i]) + ")");
    const auto v = exactInt32(arguments[i]);
    if (!v)
      return Status(ErrorCode(notNumber + 1),
                    std::string("$substrCP: ") + what +
                        " cannot be represented as a 32-bit integral value: " + show(arguments[i]));
    return *v;
  };
  TROUPE_ASSIGN(const int32_t from, index(1, "starting index", 34450));
  TROUPE_ASSIGN(const int32_t length, index(2, "length", 34452));
  if (length < 0) return Status(ErrorCode(34454), "$substrCP: length must be a nonnegative integer.");
  if (from < 0) return Status(ErrorCode(34455), "$substrCP: the starting index must be a nonnegative integer.");
  const size_t begin = byteOfCodePoint(s, from);
  const std::string_view rest = std::string_view(s).substr(begin);
  return Operand(text(rest.substr(0, byteOfCodePoint(rest, length))));
}

/// What $trim removes unless it is told.
constexpr auto kWhitespace =
    "\0 \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"sv;

constexpr NamedArgument kTrimArguments[] = {{"input", true, 50695}, {"chars"}};
constexpr OperandErrors kTrimErrors = {.notDocument = 50696, .unknownArgument = 50694};

Result trim(Arguments& arguments, const Operator& op) {
  const std::string name(op.name);
  if (arguments[0].isNullish()) return Operand(nullValue());
  if (!arguments[0].is(Type::kString))
    return Status(ErrorCode(50699), name + " requires its input to be a string, got " + show(arguments[0]) +
                                        " (of type " + typeOf(arguments[0]) + ") instead.");
  static const CharacterSet kDefault = *CharacterSet::of(kWhitespace, nullptr);
  CharacterSet given;
  if (arguments.given(1)) {
    if (arguments[1].isNullish()) return Operand(nullValue());
    if (!arguments[1].is(Type::kString))
      return Status(ErrorCode(50700), name + " requires 'chars' to be a string, got " + show(arguments[1]) +
                                          " (of type " + typeOf(arguments[1]) + ") instead.");
    TROUPE_ASSIGN(given, CharacterSet::of(arguments[1].asString(), arguments.variables.work()));
  }
  const CharacterSet& set = arguments.given(1) ? given : kDefault;
  std::string_view s = arguments[0].asString();
  while (op.name != "$rtrim" && !s.empty() && set.has(firstCharacter(s))) {
    TROUPE_TRY(arguments.variables.step());
    s.remove_prefix(firstCharacter(s).size());
  }
  while (op.name != "$ltrim" && !s.empty() && set.has(lastCharacter(s))) {
    TROUPE_TRY(arguments.variables.step());
    s.remove_suffix(lastCharacter(s).size());
  }
  return Operand(text(s));
}

Result split(Arguments& arguments, const Operator&) {
  const Element input = arguments[0], separator = arguments[1];
  if (input.isNullish() || separator.isNullish()) return Operand(nullValue());
  if (!input.is(Type::kString))
    return Status(
        ErrorCode(40085),
        "$split requires an expression that evaluates to a string as a first argument, found: " + typeOf(input));
  if (!separator.is(Type::kString))
    return Status(
        ErrorCode(10503900),
        "$split requires an expression that evaluates to a string as a second argument, found: " + typeOf(separator));
  const std::string_view by = separator.asString();
  if (by.empty()) return Status(ErrorCode(40087), "$split requires a non-empty separator");
  bson::Builder out;
  Growth growth(arguments.variables.work());
  const std::string_view whole = input.asString();
  size_t from = 0;
  while (true) {
    TROUPE_ASSIGN(const size_t at, findText(whole, by, from, arguments.variables.work()));
    if (at == std::string_view::npos) break;
    TROUPE_TRY(growth.to(out.size()));
    out.push(whole.substr(from, at - from));
    from = at + by.size();
  }
  out.push(whole.substr(from));
  return Operand(out.finishArray());
}

Result lengthInBytes(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (!e.is(Type::kString))
    return Status(ErrorCode(34473), "$strLenBytes requires a string argument, found: " + typeOf(e));
  return Operand(integer(static_cast<int64_t>(e.asString().size())));
}

Result lengthInCodePoints(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (!e.is(Type::kString))
    return Status(ErrorCode(34471), "$strLenCP requires a string argument, found: " + typeOf(e));
  return Operand(integer(codePoints(e.asString())));
}

/// The optional start and end of $indexOfBytes, $indexOfCP and $indexOfArray; an end past the input means its size.
StatusWith<int64_t> bound(const Arguments& arguments, size_t i, const Operator& op, int64_t fallback) {
  if (i >= arguments.size()) return fallback;
  const char* what = i == 2 ? "starting" : "ending";
  const auto v = exactInt32(arguments[i]);
  if (!v)
    return Status(ErrorCode(40096), std::string(op.name) + " requires an integral " + what +
                                        " index, found a value of type: " + typeOf(arguments[i]) +
                                        ", with value: " + show(arguments[i]));
  if (*v < 0)
    return Status(ErrorCode(40097),
                  std::string(op.name) + " requires a nonnegative " + what + " index, found: " + std::to_string(*v));
  return *v;
}

Result indexOf(Arguments& arguments, const Operator& op) {
  const bool bytes = op.name == "$indexOfBytes";
  if (arguments[0].isNullish()) return Operand(nullValue());
  if (!arguments[0].is(Type::kString))
    return Status(ErrorCode(bytes ? 40091 : 40093),
                  std::string(op.name) + " requires a string as the first argument, found: " + typeOf(arguments[0]));
  if (!arguments[1].is(Type::kString))
    return Status(ErrorCode(bytes ? 40092 : 40094),
                  std::string(op.name) + " requires a string as the second argument, found: " + typeOf(arguments[1]));
  const std::string_view s = arguments[0].asString(), token = arguments[1].asString();
  const int64_t size = bytes ? static_cast<int64_t>(s.size()) : codePoints(s);
  TROUPE_ASSIGN(const int64_t from, bound(arguments, 2, op, 0));
  TROUPE_ASSIGN(int64_t to, bound(arguments, 3, op, size));
  to = std::min(to, size);
  if (from > to) return Operand(int32(-1));
  const size_t begin = bytes ? static_cast<size_t>(from) : byteOfCodePoint(s, from);
  const size_t end = bytes ? static_cast<size_t>(to) : byteOfCodePoint(s, to);
  TROUPE_ASSIGN(const size_t at, findText(s.substr(0, end), token, begin, arguments.variables.work()));
  if (at == std::string_view::npos) return Operand(int32(-1));
  return Operand(integer(bytes ? static_cast<int64_t>(at) : codePoints(s.substr(0, at))));
}

constexpr NamedArgument kReplaceArguments[] = {
    {"input", true, 51749}, {"find", true, 51748}, {"replacement", true, 51747}};
constexpr OperandErrors kReplaceErrors = {.notDocument = 51751, .unknownArgument = 51750};

Result replace(Arguments& arguments, const Operator& op) {
  constexpr int kOneCodes[] = {51746, 51745, 51744}, kAllCodes[] = {10503904, 10503901, 10503902};
  const auto& codes = op.name == "$replaceAll" ? kAllCodes : kOneCodes;
  for (size_t i = 0; i < 3; ++i)
    if (!arguments[i].isNullish() && !arguments[i].is(Type::kString))
      return Status(ErrorCode(codes[i]), std::string(op.name) + " requires that '" +
                                             std::string(kReplaceArguments[i].name) +
                                             "' be a string, found: " + show(arguments[i]));
  if (arguments.anyNullish()) return Operand(nullValue());
  const std::string_view input = arguments[0].asString();
  const std::string_view find = arguments[1].asString(), replacement = arguments[2].asString();
  std::string result;
  Growth growth(arguments.variables.work());
  if (find.empty()) {
    result.append(replacement);
    for (size_t i = 0; op.name == "$replaceAll" && i < input.size(); ++i) {
      TROUPE_TRY(growth.to(result.size() + replacement.size()));
      result.push_back(input[i]);
      if (i + 1 == input.size() || !isContinuation(input[i + 1])) result.append(replacement);
    }
    if (op.name == "$replaceOne") result.append(input);
    return Operand(text(result));
  }
  size_t from = 0;
  while (from == 0 || op.name == "$replaceAll") {
    TROUPE_ASSIGN(const size_t at, findText(input, find, from, arguments.variables.work()));
    if (at == std::string_view::npos) break;
    TROUPE_TRY(growth.to(result.size() + at - from + replacement.size()));
    result.append(input.substr(from, at - from)).append(replacement);
    from = at + find.size();
  }
  return Operand(text(result.append(input.substr(from))));
}

constexpr Operator exactly(std::string_view name, int arity, Function function) {
  return {.name = name, .minArity = arity, .maxArity = arity, .function = function};
}

constexpr Operator kStringsOperators[] = {
    {.name = "$concat", .maxArity = Operator::kAny, .function = concat},
    exactly("$toLower", 1, toLower),
    exactly("$toUpper", 1, toUpper),
    exactly("$strcasecmp", 2, compareIgnoringCase),
    exactly("$substr", 3, substringOfBytes),
    exactly("$substrBytes", 3, substringOfBytes),
    exactly("$substrCP", 3, substringOfCodePoints),
    exactly("$split", 2, split),
    exactly("$strLenBytes", 1, lengthInBytes),
    exactly("$strLenCP", 1, lengthInCodePoints),
    {.name = "$indexOfBytes", .minArity = 2, .maxArity = 4, .function = indexOf},
    {.name = "$indexOfCP", .minArity = 2, .maxArity = 4, .function = indexOf},
    {.name = "$trim", .function = trim, .named = kTrimArguments, .errors = kTrimErrors},
    {.name = "$ltrim", .function = trim, .named = kTrimArguments, .errors = kTrimErrors},
    {.name = "$rtrim", .function = trim, .named = kTrimArguments, .errors = kTrimErrors},
    {.name = "$replaceOne", .function = replace, .named = kReplaceArguments, .errors = kReplaceErrors},
    {.name = "$replaceAll", .function = replace, .named = kReplaceArguments, .errors = kReplaceErrors},
};

}  // namespace

std::span<const Operator> stringOperators() { return kStringsOperators; }

}  // namespace troupe::query
