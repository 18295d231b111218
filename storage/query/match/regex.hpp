#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"
#include "storage/query/match/regex_program.hpp"

namespace troupe::query {

/// A regular expression of a filter or schema, compiled just in time. Immutable, usable by many threads; belongs to the
/// operation that it is charged to.
class CompiledRegex {
 public:
  CompiledRegex(const CompiledRegex&) = delete;
  CompiledRegex& operator=(const CompiledRegex&) = delete;

  /// `options` out of "imsxu" (u is always on: patterns and subjects are UTF-8). `work`: the operation that pays for
  /// compiling, and for the memory as long as this lives; may be null.
  /// Errors: 51108 (flag), 51091 (pattern; says why and where), BadValue (embedded NUL), ExceededMemoryLimit, those of
  /// an interrupt.
  static StatusWith<std::shared_ptr<const CompiledRegex>> compile(std::string_view pattern, std::string_view options,
                                                                  QueryWork* work = nullptr);

  const std::string& pattern() const { return pattern_; }
  const std::string& options() const { return options_; }
  /// Does it match somewhere in the text? Text that is not UTF-8 does not match. `work` may be null. Errors: 51156 (it
  /// takes too much time or memory to tell), ExceededMemoryLimit, those of an interrupt.
  StatusWith<bool> matches(std::string_view text, QueryWork* work) const;

 private:
  CompiledRegex(std::string_view pattern, std::string_view options) : pattern_(pattern), options_(options) {}
  std::string pattern_;
  std::string options_;
  std::shared_ptr<const RegexProgram> program_;
  storage::MemoryCharge charge_;
};

/// The text every match must begin with, when the pattern is `^literal` without options; else empty.
std::string literalPrefix(std::string_view pattern, std::string_view options);

}  // namespace troupe::query
