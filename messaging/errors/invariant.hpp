#pragma once
#include <source_location>
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
inline void invariant(bool holds, const char* rule, std::source_location where = std::source_location::current()) {
  if (holds) [[likely]]
    return;
  throw BrokenInvariant(std::string("broken invariant: ") + rule + " (" + where.file_name() + ":" +
                        std::to_string(where.line()) + ")");
}

}  // namespace troupe
