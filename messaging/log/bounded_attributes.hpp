#pragma once
#include <string_view>

#include "messaging/bson/document.hpp"

namespace troupe::log {

/// Most bytes of one text in a line.
inline constexpr size_t kMostTextBytes = 10 * 1024;
/// Most bytes of a line, about, as JSON.
inline constexpr size_t kMostLineBytes = 64 * 1024;

/// The beginning of a text, at most `bytes` of it, without half a character at its end.
std::string_view beginningOf(std::string_view text, size_t bytes);

/// The attributes of a log line as far as they fit: peers choose what many of them hold, and the newest lines stay in
/// memory.
struct BoundedAttributes {
  explicit BoundedAttributes(bson::View given);

  bson::View shown;          ///< `given` itself when all of it fits
  bson::Document truncated;  ///< {name: {type, size}} of each attribute that is not shown as a whole

 private:
  bson::Document cut_;
};

}  // namespace troupe::log
