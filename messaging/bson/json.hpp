#pragma once
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::bson {

/// Extended JSON v2 by libbson. Relaxed is for people and logs, canonical keeps every type.
std::string toRelaxedJson(View document);
std::string toCanonicalJson(View document);
/// One value, e.g. for messages: `{"$oid": ...}`, `"text"`, `12`.
std::string toRelaxedJson(const Element& value);
/// Errors: FailedToParse with the position; also for `$code` and `$dbPointer`, which libbson misreads.
StatusWith<Document> fromJson(std::string_view json);

/// A JSON literal in tests and tools: throws std::invalid_argument when it is malformed.
Document operator""_json(const char* text, size_t size);

}  // namespace troupe::bson
