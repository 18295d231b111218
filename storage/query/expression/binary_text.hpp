#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

// Binary data as text and as numbers, as $convert has it.
namespace troupe::query {

/// How text stands for bytes; kAuto is a UUID for the subtype of UUIDs, else base64.
enum class BinaryFormat { kAuto, kBase64, kBase64Url, kUtf8, kHex, kUuid };

/// The value of `format`; nothing where it is null or missing. Errors: 4341114 (not a string), 4341125 (not known).
StatusWith<std::optional<BinaryFormat>> binaryFormat(const bson::Element& e);
/// Whether the value of `byteOrder` is "big"; null and missing are "little". Errors: 9130001 (not a string), 9130002.
StatusWith<bool> isBigEndian(const bson::Element& e);
/// The value of `subtype`. Errors: 4341108 (not a number), 4341106 (not an integer), 4341107 (not a subtype).
StatusWith<uint8_t> binarySubtype(const bson::Element& e);

/// The text of binary data. Errors: ConversionFailure.
StatusWith<std::string> binaryToText(const bson::Binary& binary, BinaryFormat format);
/// The binary data that a text stands for. Errors: ConversionFailure.
StatusWith<bson::Value> textToBinary(std::string_view text, BinaryFormat format, uint8_t subtype);
/// A value of binary data.
bson::Value binaryValue(std::string_view bytes, uint8_t subtype);
/// The signed integer that 1, 2, 4 or 8 bytes are, at most `most` of them; nothing for other lengths.
std::optional<int64_t> integerFromBytes(std::string_view bytes, size_t most, bool bigEndian);
/// The double that 4 or 8 bytes are; nothing for other lengths.
std::optional<double> doubleFromBytes(std::string_view bytes, bool bigEndian);

}  // namespace troupe::query
