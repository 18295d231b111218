#pragma once
#include <stdexcept>
#include <string>

namespace troupe {

/// A rule of the program itself is broken: no input may cause it. It leaves the actor at work, whose supervisor starts
/// it anew from what outlives it; a request answers InternalError.
class BrokenInvariant : public std::logic_error {
  using std::logic_error::logic_error;
};

/// States what holds here, for the reader who would ask why it cannot be otherwise. Checked in every build. `rule` is
/// static text. Throws BrokenInvariant. Not for what callers or data can get wrong: that is a Status.
/// (`file` and `line` are those of the call; std::source_location is not known to the fuzzers' clang 14.)
inline void invariant(bool holds, const char* rule, const char* file = __builtin_FILE(),
                      unsigned line = __builtin_LINE()) {
  if (holds) [[likely]]
    return;
  throw BrokenInvariant(std::string("broken invariant: ") + rule + " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace troupe
