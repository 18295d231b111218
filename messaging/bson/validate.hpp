#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "messaging/bson/types.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::bson {

struct ValidateOptions {
  int32_t maxSize = kMaxInternalDocumentSize;  ///< larger documents are refused (BSONObjectTooLarge)
  int maxDepth = kMaxCommandNesting + 1;       ///< deeper nesting is refused (Overflow), without recursion; at most 255
  bool checkUtf8 = false;                      ///< strings must be UTF-8
};

/// Checks in one pass, without recursion and without allocating per level, that `bytes` begins with exactly one
/// well-formed document (it may be followed by other bytes): lengths, types, terminators, booleans, inner sizes.
/// After success every View and Element access within it is safe. Returns the document's size in bytes.
/// Errors: InvalidBSON (says what and at which offset), BSONObjectTooLarge, Overflow (nesting).
StatusWith<int32_t> validate(std::string_view bytes, const ValidateOptions& options = {});

/// Whether all of `text` is well-formed UTF-8.
bool isUtf8(std::string_view text);
/// The text with a replacement character for each byte that is not UTF-8, for replies and logs.
std::string asUtf8(std::string text);

}  // namespace troupe::bson
