#include <optional>

#include "storage/query/expression/node.hpp"
#include "storage/query/expression/regex_flags.hpp"
#include "storage/query/expression/text.hpp"
#include "storage/query/match/regex_program.hpp"

// $regexMatch, $regexFind, $regexFindAll, by PCRE2.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

constexpr size_t kMaxPattern = 16384;
constexpr size_t kUnset = SIZE_MAX;  ///< the offset of a group that took no part in the match
constexpr NamedArgument kArguments[] = {{"input", true, 31022}, {"regex", true, 31023}, {"options"}};
constexpr OperandErrors kErrors = {.notDocument = 51103, .unknownArgument = 31024};

/// A compiled pattern; kept per thread for the next document, since most patterns are constant.
struct Compiled {
  std::string pattern, options;
  std::shared_ptr<const RegexProgram> program;
  std::optional<RegexMatch> match;
};

StatusWith<Compiled*> compile(std::string_view pattern, std::string_view options, const std::string& name,
                              QueryWork* work) {
  thread_local Compiled last;
  if (last.program && last.pattern == pattern && last.options == options) return &last;
  if (pattern.size() > kMaxPattern)
    return Status(ErrorCode(51111), "Invalid Regex in " + name + ": the pattern is longer than " +
                                        std::to_string(kMaxPattern) + " bytes");
  TROUPE_ASSIGN(const uint32_t flags, regexFlags(options, name));
  auto program = RegexProgram::compile(pattern, flags, RegexProgram::Engine::kInterpreter, work);
  if (program.status() == ErrorCode::kInvalidRegex)
    return Status(ErrorCode(51111), "Invalid Regex in " + name + ": " + program.status().reason());
  TROUPE_ASSIGN(last.program, std::move(program));
  last.pattern = pattern;
  last.options = options;
  last.match.emplace(last.program->groups());
  return &last;
}

struct Search {
  std::string_view input;
  Compiled* compiled = nullptr;  ///< null: an argument was null
};

StatusWith<Search> prepare(const Arguments& arguments, const Operator& op) {
  const std::string name(op.name);
  const Element input = arguments[0], regex = arguments[1], options = arguments[2];
  if (!regex.isNullish() && !regex.is(Type::kString) && !regex.is(Type::kRegex))
    return Status(ErrorCode(51105), name + " needs 'regex' to be of type string or regex");
  if (!options.isNullish() && !options.is(Type::kString))
    return Status(ErrorCode(51106), name + " needs 'options' to be of type string");
  const auto checkInput = [&]() -> Status {
    if (input.isNullish() || input.is(Type::kString)) return Status::OK();
    return {ErrorCode(51104), name + " needs 'input' to be of type string"};
  };
  if (regex.isNullish()) {
    TROUPE_TRY(checkInput());
    return Search{};
  }
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
  if (flags.find('\0') != std::string_view::npos)
    return Status(ErrorCode(51110), name + ": regular expression options cannot contain an embedded null byte");
  TROUPE_ASSIGN(Compiled * compiled, compile(pattern, flags, name, arguments.variables.work()));
  TROUPE_TRY(checkInput());
  if (input.isNullish()) return Search{};
  return Search{input.asString(), compiled};
}

/// The number of groups matched from `from` on, 0 for no match.
StatusWith<int> matchFrom(const Search& search, size_t from, Arguments& arguments, const Operator& op) {
  auto count =
      search.compiled->program->search(search.input, from, *search.compiled->match, arguments.variables.work());
  if (count.status() != ErrorCode(51156)) return count;
  return count.status().withContext("Error occurred while executing the regular expression in " + std::string(op.name));
}

/// Bytes that `describe` is going to need, for the match and each of its groups: they may all be the whole input.
size_t describedSize(const Search& search) {
  const std::vector<size_t>& at = search.compiled->match->offsets();
  size_t bytes = 64;
  for (size_t i = 0; i < at.size(); i += 2)
    if (at[i] != kUnset) bytes += 16 + at[i + 1] - at[i];
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

bson::Document describe(const Search& search, CharacterIndex& index) {
  const std::vector<size_t>& at = search.compiled->match->offsets();
  const size_t groups = search.compiled->program->groups();
  bson::Builder out;
  out.append("match", search.input.substr(at[0], at[1] - at[0]));
  out.append("idx", static_cast<int32_t>(index.at(search.input, at[0])));
  out.openArray("captures");
  for (size_t i = 1; i <= groups; ++i) {
    if (2 * i >= at.size() || at[2 * i] == kUnset) out.push(bson::Null{});
    else out.push(search.input.substr(at[2 * i], at[2 * i + 1] - at[2 * i]));
  }
  out.close();
  return out.finish();
}

Result regexMatch(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const Search search, prepare(arguments, op));
  if (!search.compiled) return Operand(boolean(false));
  TROUPE_ASSIGN(const int count, matchFrom(search, 0, arguments, op));
  return Operand(boolean(count > 0));
}

Result regexFind(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const Search search, prepare(arguments, op));
  if (!search.compiled) return Operand(nullValue());
  TROUPE_ASSIGN(const int count, matchFrom(search, 0, arguments, op));
  if (count <= 0) return Operand(nullValue());
  Growth growth(arguments.variables.work());
  TROUPE_TRY(growth.reserve(describedSize(search)));
  CharacterIndex index;
  return Operand(document(describe(search, index)));
}

Result regexFindAll(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const Search search, prepare(arguments, op));
  bson::Builder out;
  Growth growth(arguments.variables.work());
  CharacterIndex index;
  // An empty input is searched once; else no match begins at its end, not even an empty one.
  for (size_t from = 0; search.compiled && (from == 0 || from < search.input.size());) {
    TROUPE_ASSIGN(const int count, matchFrom(search, from, arguments, op));
    if (count <= 0) break;
    TROUPE_TRY(growth.reserve(out.size() + describedSize(search)));
    TROUPE_TRY(growth.to(out.size()));
    out.push(describe(search, index));
    const std::vector<size_t>& at = search.compiled->match->offsets();
    from = at[1] > at[0] ? at[1] : at[1] + std::max<size_t>(1, byteOfCodePoint(search.input.substr(at[1]), 1));
  }
  return Operand(out.finishArray());
}

constexpr Operator kStringSearchOperators[] = {
    {.name = "$regexMatch", .function = regexMatch, .named = kArguments, .errors = kErrors},
    {.name = "$regexFind", .function = regexFind, .named = kArguments, .errors = kErrors},
    {.name = "$regexFindAll", .function = regexFindAll, .named = kArguments, .errors = kErrors},
};

}  // namespace

std::span<const Operator> stringSearchOperators() { return kStringSearchOperators; }

}  // namespace troupe::query
