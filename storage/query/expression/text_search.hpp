#pragma once
#include <bitset>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

// Searching texts that a client chose, in time proportional to their size and in steps of the operation.
namespace troupe::query {

/// The place of the first `token` in `text` from byte `from` on, or npos. Takes time proportional to the bytes it
/// passes, whatever both texts are. `work` may be null. Errors: those of an interrupt.
StatusWith<size_t> findText(std::string_view text, std::string_view token, size_t from, QueryWork* work);

/// A set of UTF-8 characters.
class CharacterSet {
 public:
  /// Of all characters of a text. Errors: those of an interrupt.
  static StatusWith<CharacterSet> of(std::string_view text, QueryWork* work);
  bool has(std::string_view character) const;

 private:
  static constexpr uint32_t kPage = 256;
  std::bitset<kPage> few_;                                       ///< code points of the first page
  std::unordered_map<uint32_t, std::bitset<kPage>> otherPages_;  ///< at most 4352, as Unicode has
};

/// The first and the last character of a text that is not empty.
std::string_view firstCharacter(std::string_view text);
std::string_view lastCharacter(std::string_view text);

}  // namespace troupe::query
