#define PCRE2_CODE_UNIT_WIDTH 8
#include "storage/query/match/regex.hpp"

#include <pcre2.h>

#include "storage/query/expression/regex_flags.hpp"

namespace troupe::query {
namespace {

/// One match block a thread: allocating it for every document would cost more than most matches.
struct MatchData {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  MatchData() {
    pcre2_set_match_limit(context, 10'000'000);
    pcre2_set_depth_limit(context, 100'000);
  }
  ~MatchData() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};

}  // namespace

CompiledRegex::~CompiledRegex() { pcre2_code_free(static_cast<pcre2_code*>(code_)); }

StatusWith<std::shared_ptr<const CompiledRegex>> CompiledRegex::compile(std::string_view pattern,
                                                                        std::string_view options) {
  if (pattern.find('\0') != std::string_view::npos)
    return {ErrorCode::kBadValue, "Regular expression cannot contain an embedded null byte"};
  if (options.find('\0') != std::string_view::npos)
    return {ErrorCode::kBadValue, "Regular expression options string cannot contain an embedded null byte"};
  TROUPE_ASSIGN(const uint32_t flags, regexFlags(options, ""));
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   flags | PCRE2_MATCH_INVALID_UTF, &error, &offset, nullptr);
  if (!code) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof text);
    return {ErrorCode::kInvalidRegex, std::string("Regular expression is invalid: ") + reinterpret_cast<char*>(text)};
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it is not available the interpreter serves
  std::shared_ptr<CompiledRegex> regex(new CompiledRegex(pattern, options));
  regex->code_ = code;
  return std::shared_ptr<const CompiledRegex>(std::move(regex));
}

bool CompiledRegex::search(std::string_view text) const {
  thread_local MatchData match;
  return pcre2_match(static_cast<const pcre2_code*>(code_), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                     0, match.data, match.context) >= 0;
}

std::string CompiledRegex::literalPrefix() const {
  if (!options_.empty() || pattern_.size() < 2 || pattern_[0] != '^' || pattern_.find('|') != std::string::npos)
    return {};
  std::string prefix;
  for (size_t i = 1; i < pattern_.size(); ++i) {
    const char c = pattern_[i];
    if (std::string_view("*?{").find(c) != std::string_view::npos) {
      // The character before is optional; of several bytes it goes whole.
      while (!prefix.empty() && (prefix.back() & 0xC0) == 0x80) prefix.pop_back();
      if (!prefix.empty()) prefix.pop_back();
      break;
    }
    if (c == '\\') {
      if (i + 1 >= pattern_.size() || isalnum(static_cast<unsigned char>(pattern_[i + 1]))) break;
      prefix.push_back(pattern_[++i]);
      continue;
    }
    if (std::string_view(".^$+()[]").find(c) != std::string_view::npos) break;
    prefix.push_back(c);
  }
  return prefix;
}

}  // namespace troupe::query
