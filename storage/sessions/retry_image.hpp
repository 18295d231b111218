#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::storage {

/// Which document a findAndModify answers with, and has to answer with again when it is retried: as it was before the
/// write, or after (SES-020 to SES-022).
enum class RetryImage : uint8_t { kNone, kBefore, kAfter };

/// As in the field `needsRetryImage` of an entry: "preImage", "postImage"; empty for none.
constexpr std::string_view nameOf(RetryImage image) {
  if (image == RetryImage::kNone) return {};
  return image == RetryImage::kBefore ? "preImage" : "postImage";
}

constexpr std::optional<RetryImage> retryImageNamed(std::string_view name) {
  for (const RetryImage image : {RetryImage::kBefore, RetryImage::kAfter})
    if (nameOf(image) == name) return image;
  return std::nullopt;
}

}  // namespace troupe::storage
