#include "storage/query/expression/text_search.hpp"

#include <cstring>

#include "storage/query/expression/text.hpp"

namespace troupe::query {

namespace {

constexpr size_t kBlock = 64 << 10;
constexpr uint32_t kCodePoints = 0x110000;

/// The code point of a character; kCodePoints for what is not UTF-8.
uint32_t codePointOf(std::string_view character) {
  const auto lead = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return lead < 0x80 ? lead : kCodePoints;
  if (character.size() > 4) return kCodePoints;
  const uint32_t leadBits = character.size() == 2 ? 0x1F : character.size() == 3 ? 0x0F : 0x07;
  if ((lead & ~leadBits & 0xFF) != (0xFF00 >> character.size() & 0xFF)) return kCodePoints;
  uint32_t point = lead & leadBits;
  for (const char c : character.substr(1)) point = point << 6 | (static_cast<uint8_t>(c) & 0x3F);
  return point < kCodePoints ? point : kCodePoints;
}

}  // namespace

StatusWith<size_t> findText(std::string_view text, std::string_view token, size_t from, QueryWork* work) {
  // memmem prepares itself for a long token each time, so that a block must not be shorter.
  const size_t block = std::max(kBlock, token.size());
  while (token.size() <= text.size() && from <= text.size() - token.size()) {
    const std::string_view searched = text.substr(from, block + token.size());
    const void* const found = memmem(searched.data(), searched.size(), token.data(), token.size());
    const size_t passed = found ? static_cast<size_t>(static_cast<const char*>(found) - searched.data()) : block;
    if (work) TROUPE_TRY(work->step(stepsFor(passed + token.size())));
    if (found) return from + passed;
    from += block;
  }
  return std::string_view::npos;
}

StatusWith<CharacterSet> CharacterSet::of(std::string_view text, QueryWork* work) {
  CharacterSet set;
  while (!text.empty()) {
    if (work) TROUPE_TRY(work->step());
    const std::string_view character = firstCharacter(text);
    text.remove_prefix(character.size());
    const uint32_t point = codePointOf(character);
    if (point < kPage) set.few_.set(point);
    else if (point < kCodePoints) set.otherPages_[point / kPage].set(point % kPage);
  }
  return set;
}

bool CharacterSet::has(std::string_view character) const {
  const uint32_t point = codePointOf(character);
  if (point < kPage) return few_[point];
  const auto page = otherPages_.find(point / kPage);
  return page != otherPages_.end() && page->second[point % kPage];
}

std::string_view firstCharacter(std::string_view text) { return text.substr(0, byteOfCodePoint(text, 1)); }

std::string_view lastCharacter(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && isContinuation(text[at])) --at;
  return text.substr(at);
}

}  // namespace troupe::query
