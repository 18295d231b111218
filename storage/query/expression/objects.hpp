#pragma once
#include <string_view>

#include "messaging/bson/document.hpp"

namespace troupe::query {

/// `base` with one field set (in its place, else at the end), or removed when `value` is absent.
bson::Document withField(bson::View base, std::string_view name, const bson::Element& value);

/// `base` with the fields of `over` set, as $mergeObjects does.
bson::Document mergeDocuments(bson::View base, bson::View over);

}  // namespace troupe::query
