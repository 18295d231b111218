#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

struct pcre2_real_code_8;
struct pcre2_real_general_context_8;
struct pcre2_real_match_data_8;

namespace troupe::query {

/// What one thread needs to match: PCRE2's memory, charged to the operation while a match runs, and the offsets of the
/// last match. Kept from match to match, since making one costs more than most matches.
class RegexMatch {
 public:
  /// `groups`: of the patterns it is used for, at most; their offsets are kept.
  explicit RegexMatch(uint32_t groups = 0);
  ~RegexMatch();
  RegexMatch(const RegexMatch&) = delete;

  /// Begin and end of the match, and of each group that took part in it; SIZE_MAX for one that did not.
  const std::vector<size_t>& offsets() const { return offsets_; }

 private:
  friend class RegexProgram;
  class Run;
  static void* allocate(size_t size, void* match);
  static void release(void* memory, void* match);

  const uint32_t groups_;
  pcre2_real_general_context_8* memory_ = nullptr;
  pcre2_real_match_data_8* data_ = nullptr;
  QueryWork* work_ = nullptr;  ///< of the match that runs
  int64_t held_ = 0;
  storage::MemoryCharge charge_;
  Status refused_;
  std::vector<size_t> offsets_;
};

/// A pattern as PCRE2 runs it. Whatever the pattern and the text, a match ends soon once its operation is interrupted,
/// and at some limit of time and memory in any case: that is an error, never "no match". Immutable; any thread.
///
/// PCRE2 itself counts only how often it backtracks at one place of the text, which says little of the time a match
/// takes. A match of a short text is therefore tried with a low limit; those that reach it, and all of long texts, are
/// run by a form of the pattern that calls back at each place where a match is tried, with a limit for each place; and
/// those that reach that, by a form that calls back before each item, which is some ten times slower.
class RegexProgram {
 public:
  /// Where compiled patterns are used once or twice the interpreter is faster.
  enum class Engine : uint8_t { kJustInTime, kInterpreter };

  /// `flags`: PCRE2's. Counts its steps by `work`, which may be null. Errors: InvalidRegex (PCRE2's text alone), those
  /// of an interrupt.
  static StatusWith<std::shared_ptr<const RegexProgram>> compile(std::string_view pattern, uint32_t flags,
                                                                 Engine engine, QueryWork* work);
  ~RegexProgram();
  RegexProgram(const RegexProgram&) = delete;

  uint32_t groups() const { return groups_; }
  /// Bytes that it takes, or is going to take.
  int64_t bytes() const { return bytes_; }
  /// Searches from byte `from` of the text on: the number of groups matched, the whole included; 0 for no match. Text
  /// before `from` was searched before, so that it is known to be UTF-8. `work` may be null. Errors: 51156 (limits, bad
  /// UTF-8), ExceededMemoryLimit, those of an interrupt.
  StatusWith<int> search(std::string_view text, size_t from, RegexMatch& match, QueryWork* work) const;

 private:
  struct Attempt;
  RegexProgram(std::string_view pattern, uint32_t flags, Engine engine)
      : pattern_(pattern), flags_(flags), engine_(engine) {}
  pcre2_real_code_8* compileForm(const std::string& pattern, uint32_t extraFlags, int& error) const;
  const pcre2_real_code_8* placesForm() const;
  const pcre2_real_code_8* watchedForm() const;
  int runByPlaces(const Attempt& attempt, QueryWork* work, Status& stopped) const;
  int runWatched(const Attempt& attempt, QueryWork* work, Status& stopped) const;
  int runRepeatedly(const Attempt& attempt, QueryWork* work, Status& stopped) const;
  static int run(const Attempt& attempt);

  const std::string pattern_;
  const uint32_t flags_;
  const Engine engine_;
  uint32_t groups_ = 0;
  bool refersBack_ = false;
  int64_t bytes_ = 0;
  pcre2_real_code_8* plain_ = nullptr;
  mutable std::once_flag placesMade_, watchedMade_;
  mutable pcre2_real_code_8* places_ = nullptr;   ///< null: not needed so far, or not possible
  mutable pcre2_real_code_8* watched_ = nullptr;  ///< null: not needed so far, or too large
};

}  // namespace troupe::query
