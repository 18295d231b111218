#pragma once
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// The document with a value at a dotted path, as stages place their results ($lookup's `as`): the path goes through
/// documents, and whatever else stands on the way, arrays included, is replaced by one. (ProjectionTree goes into the
/// elements of arrays, as $addFields does.) `work` may be null. Errors: ExceededMemoryLimit, Overflow (nesting).
StatusWith<bson::Document> withNestedValue(bson::View document, std::string_view path, const bson::Value& value,
                                           QueryWork* work);

}  // namespace troupe::query
