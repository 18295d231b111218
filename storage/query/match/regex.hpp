#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::query {

/// A compiled regular expression (PCRE2 with its just-in-time compiler). Immutable, usable by many threads.
class CompiledRegex {
 public:
  ~CompiledRegex();
  CompiledRegex(const CompiledRegex&) = delete;
  CompiledRegex& operator=(const CompiledRegex&) = delete;

  /// `options` out of "imsxu" (u is always on: patterns and subjects are UTF-8).
  /// Errors: 51108 (flag), 51091 (pattern; says why and where), BadValue (embedded NUL).
  static StatusWith<std::shared_ptr<const CompiledRegex>> compile(std::string_view pattern, std::string_view options);

  const std::string& pattern() const { return pattern_; }
  const std::string& options() const { return options_; }
  /// Does it match somewhere in the text? Text that is not UTF-8, or that exhausts the matching limits, does not match.
  bool search(std::string_view text) const;
  /// The text every match must begin with, when the pattern is `^literal` without options; else empty.
  std::string literalPrefix() const;

 private:
  CompiledRegex(std::string_view pattern, std::string_view options) : pattern_(pattern), options_(options) {}
  std::string pattern_;
  std::string options_;
  void* code_ = nullptr;  // pcre2_code, kept out of the header
};

}  // namespace troupe::query
