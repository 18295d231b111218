#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"
#include "storage/query/expression/calendar.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// Formats a date in a zone: %Y %m %d %H %M %S %L %j %u %w %U %V %G %z %Z %b %B %%. Errors: 18535, 18536.
StatusWith<std::string> formatDate(std::string_view format, int64_t instant, const Zone& zone, QueryWork* work);
/// Reads a date by a format of the same letters. A text that names its zone must not be given another; without either
/// it is in UTC. Errors: ConversionFailure (241).
StatusWith<int64_t> parseDate(std::string_view text, std::string_view format, const std::optional<Zone>& zone);
/// Reads a date in ISO 8601 form ("2024-01-31", "2024-01-31T10:20:30.5+01:00"), zones as for `parseDate`.
/// Errors: ConversionFailure (241).
StatusWith<int64_t> parseIsoDate(std::string_view text, const std::optional<Zone>& zone);

}  // namespace troupe::query
