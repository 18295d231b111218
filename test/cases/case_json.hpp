#pragma once
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::cases {

/// One line of a case file as a document. Extended JSON v2, but only where a name can be nothing else: `$type`,
/// `$regex` and `$options` stay what they are to a query (a regular expression as a value is `$regularExpression`).
/// Numbers without a point are int, or long when they are too large; all others are double. Errors: FailedToParse.
StatusWith<bson::Document> readCase(std::string_view line);

}  // namespace troupe::cases
