#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

// UTF-8 and the texts of values, as string operators see them.
namespace troupe::query {

inline bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
/// Number of code points.
int64_t codePoints(std::string_view text);
/// The byte at which the n-th code point begins; the size when there are fewer.
size_t byteOfCodePoint(std::string_view text, int64_t n);
/// A value as the operators of strings read it: strings, numbers, dates, timestamps as text; "" for null and missing.
/// Errors: 16007.
StatusWith<std::string> coerceToString(const bson::Element& e);
/// "2024-01-31T10:20:30.123Z"
std::string isoDate(int64_t millis);

}  // namespace troupe::query
