#pragma once
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::query {

class QueryWork;

/// `base` with the fields of `over` set, as $mergeObjects does.
bson::Document mergeDocuments(bson::View base, bson::View over);
/// The same for values of any size. Errors: those of an interrupt, ExceededMemoryLimit. `work` may be null.
StatusWith<bson::Document> mergeDocuments(bson::View base, bson::View over, QueryWork* work);

}  // namespace troupe::query
