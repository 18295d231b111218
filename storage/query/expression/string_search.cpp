#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "storage/query/expression/node.hpp"
#include "storage/query/expression/regex_flags.hpp"
#include "storage/query/expression/text.hpp"

// $regexMatch, $regexFind, $regexFindAll, by PCRE2.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

constexpr NamedArgument kArguments[] = {{"input", true}, {"regex", true}, {"options"}};

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

/// A compiled pattern; kept per thread for the next document, since most patterns are constant.
struct Compiled {
  std::string pattern, options;
  std::unique_ptr<pcre2_code, FreeCode> code;
  std::unique_ptr<pcre2_match_data, FreeMatch> match;
};

StatusWith<Compiled*> compile(std::string_view pattern, std::string_view options, const std::string& name) {
  thread_local Compiled last;
  if (last.code && last.pattern == pattern && last.options == options) return &last;
  TROUPE_ASSIGN(const uint32_t flags, regexFlags(options, name));
  int error = 0;
  size_t offset = 0;
  last.code.reset(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), flags, &error, &offset, nullptr));
  if (!last.code) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(error, message, sizeof message);
    return Status(ErrorCode(51111), "Invalid Regex in " + name + ": " + reinterpret_cast<const char*>(message));
  }
  last.pattern = pattern;
  last.options = options;
  last.match.reset(pcre2_match_data_create_from_pattern(last.code.get(), nullptr));
  return &last;
}

struct Search {
  std::string_view input;
  Compiled* compiled = nullptr;  ///< null: an argument was null
};

StatusWith<Search> prepare(const Arguments& arguments, const Operator& op) {
  const std::string name(op.name);
  const Element input = arguments[0], regex = arguments[1], options = arguments[2];
  if (!input.isNullish() && !input.is(Type::kString))
    return Status(ErrorCode(51104), name + " needs 'input' to be of type string");
  if (!regex.isNullish() && !regex.is(Type::kString) && !regex.is(Type::kRegex))
    return Status(ErrorCode(51105), name + " needs 'regex' to be of type string or regex");
  if (!options.isNullish() && !options.is(Type::kString))
    return Status(ErrorCode(51106), name + " needs 'options' to be of type string");
  if (input.isNullish() || regex.isNullish()) return Search{};
  std::string_view pattern, flags = options.isNullish() ? std::string_view() : options.asString();
  if (regex.is(Type::kRegex)) {
    pattern = regex.asRegex().pattern;
    if (!regex.asRegex().options.empty()) {
      if (!options.isNullish())
        return Status(ErrorCode(51107), name + ": found regex option(s) specified in both 'regex' and 'option' fields");
      flags = regex.asRegex().options;
    }
  } else {
    pattern = regex.asString();
    if (pattern.find('\0') != std::string_view::npos)
      return Status(ErrorCode(51109), name + ": regular expression cannot contain an embedded null byte");
  }
  TROUPE_ASSIGN(Compiled * compiled, compile(pattern, flags, name));
  return Search{input.asString(), compiled};
}

/// The number of groups matched from `from` on, 0 for no match. The first search, from 0, checks the input's encoding;
/// the others rely on it, or many matches in a long text would take quadratic time.
StatusWith<int> matchFrom(const Search& search, size_t from, const Operator& op) {
  const uint32_t options = from > 0 ? PCRE2_NO_UTF_CHECK : 0;
  const int count = pcre2_match(search.compiled->code.get(), reinterpret_cast<PCRE2_SPTR>(search.input.data()),
                                search.input.size(), from, options, search.compiled->match.get(), nullptr);
  if (count == PCRE2_ERROR_NOMATCH) return 0;
  if (count < 0)
    return Status(ErrorCode(51156), "Error occurred while executing the regular expression in " + std::string(op.name) +
                                        ". Result code: " + std::to_string(count));
  return count;
}

/// Bytes that `describe` is going to need, for the match and each of its groups: they may all be the whole input.
size_t describedSize(const Search& search, int count) {
  const size_t* at = pcre2_get_ovector_pointer(search.compiled->match.get());
  size_t bytes = 64;
  for (int i = 0; i < count; ++i)
    if (at[2 * i] != PCRE2_UNSET) bytes += 16 + at[2 * i + 1] - at[2 * i];
  return bytes;
}

/// Place of a match counted in characters, advanced from match to match.
struct CharacterIndex {
  int64_t at(std::string_view input, size_t byte) {
    characters += codePoints(input.substr(bytes, byte - bytes));
    bytes = byte;
    return characters;
  }
  size_t bytes = 0;
  int64_t characters = 0;
};

bson::Document describe(const Search& search, int count, CharacterIndex& index) {
  const size_t* at = pcre2_get_ovector_pointer(search.compiled->match.get());
  uint32_t groups = 0;
  pcre2_pattern_info(search.compiled->code.get(), PCRE2_INFO_CAPTURECOUNT, &groups);
  bson::Builder out;
  out.append("match", search.input.substr(at[0], at[1] - at[0]));
  out.append("idx", static_cast<int32_t>(index.at(search.input, at[0])));
  out.openArray("captures");
  for (uint32_t i = 1; i <= groups; ++i) {
    if (static_cast<int>(i) >= count || at[2 * i] == PCRE2_UNSET) out.push(bson::Null{});
    else out.push(search.input.substr(at[2 * i], at[2 * i + 1] - at[2 * i]));
  }
  out.close();
  return out.finish();
}

Result regexMatch(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const Search search, prepare(arguments, op));
  if (!search.compiled) return Operand(boolean(false));
  TROUPE_ASSIGN(const int count, matchFrom(search, 0, op));
  return Operand(boolean(count > 0));
}

Result regexFind(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const Search search, prepare(arguments, op));
  if (!search.compiled) return Operand(nullValue());
  TROUPE_ASSIGN(const int count, matchFrom(search, 0, op));
  if (count <= 0) return Operand(nullValue());
  Growth growth(arguments.variables.work());
  TROUPE_TRY(growth.reserve(describedSize(search, count)));
  CharacterIndex index;
  return Operand(document(describe(search, count, index)));
}

Result regexFindAll(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const Search search, prepare(arguments, op));
  bson::Builder out;
  Growth growth(arguments.variables.work());
  CharacterIndex index;
  for (size_t from = 0; search.compiled && from <= search.input.size();) {
    // A pattern that looks ahead may read the whole input for each match.
    TROUPE_TRY(arguments.variables.step(stepsFor(search.input.size())));
    TROUPE_ASSIGN(const int count, matchFrom(search, from, op));
    if (count <= 0) break;
    TROUPE_TRY(growth.reserve(out.size() + describedSize(search, count)));
    TROUPE_TRY(growth.to(out.size()));
    out.push(describe(search, count, index));
    const size_t* at = pcre2_get_ovector_pointer(search.compiled->match.get());
    from = at[1] > at[0] ? at[1] : at[1] + std::max<size_t>(1, byteOfCodePoint(search.input.substr(at[1]), 1));
  }
  return Operand(out.finishArray());
}

constexpr Operator kStringSearchOperators[] = {
    {.name = "$regexMatch", .function = regexMatch, .named = kArguments},
    {.name = "$regexFind", .function = regexFind, .named = kArguments},
    {.name = "$regexFindAll", .function = regexFindAll, .named = kArguments},
};

}  // namespace

std::span<const Operator> stringSearchOperators() { return kStringSearchOperators; }

}  // namespace troupe::query
