#define PCRE2_CODE_UNIT_WIDTH 8
#include "storage/query/match/regex.hpp"

#include <pcre2.h>

#include "storage/query/expression/regex_flags.hpp"

namespace troupe::query {

constexpr size_t kMaxPatternBytes = 16 * 1024;

StatusWith<std::shared_ptr<const CompiledRegex>> CompiledRegex::compile(std::string_view pattern,
                                                                        std::string_view options, QueryWork* work) {
  if (pattern.find('\0') != std::string_view::npos)
    return {ErrorCode::kBadValue, "Regular expression cannot contain an embedded null byte"};
  if (options.find('\0') != std::string_view::npos)
    return {ErrorCode::kBadValue, "Regular expression options string cannot contain an embedded null byte"};
  if (pattern.size() > kMaxPatternBytes)
    return {ErrorCode::kInvalidRegex,
            "Regular expression is invalid: pattern is larger than " + std::to_string(kMaxPatternBytes) + " bytes"};
  TROUPE_ASSIGN(const uint32_t flags, regexFlags(options, ""));
  auto program =
      RegexProgram::compile(pattern, flags | PCRE2_MATCH_INVALID_UTF, RegexProgram::Engine::kJustInTime, work);
  if (program.status() == ErrorCode::kInvalidRegex)
    return {ErrorCode::kInvalidRegex, "Regular expression is invalid: " + program.status().reason()};
  std::shared_ptr<CompiledRegex> regex(new CompiledRegex(pattern, options));
  TROUPE_ASSIGN(regex->program_, std::move(program));
  if (work) TROUPE_TRY(regex->charge_.resize(work->memory(), regex->program_->bytes()));
  return std::shared_ptr<const CompiledRegex>(std::move(regex));
}

StatusWith<bool> CompiledRegex::matches(std::string_view text, QueryWork* work) const {
  thread_local RegexMatch match;
  TROUPE_ASSIGN(const int count, program_->search(text, 0, match, work));
  return count > 0;
}

std::string literalPrefix(std::string_view pattern, std::string_view options) {
  if (!options.empty() || pattern.size() < 2 || pattern[0] != '^' || pattern.find('|') != std::string_view::npos)
    return {};
  std::string prefix;
  for (size_t i = 1; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (std::string_view("*?{").find(c) != std::string_view::npos) {
      // The character before is optional; of several bytes it goes whole.
      while (!prefix.empty() && (prefix.back() & 0xC0) == 0x80) prefix.pop_back();
      if (!prefix.empty()) prefix.pop_back();
      break;
    }
    if (c == '\\') {
      if (i + 1 >= pattern.size() || isalnum(static_cast<unsigned char>(pattern[i + 1]))) break;
      prefix.push_back(pattern[++i]);
      continue;
    }
    if (std::string_view(".^$+()[]").find(c) != std::string_view::npos) break;
    prefix.push_back(c);
  }
  return prefix;
}

}  // namespace troupe::query
