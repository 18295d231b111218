#pragma once
#include "messaging/bson/document.hpp"

namespace troupe::query {

/// The value with the fields of all documents in it in the order of their names: values of which these compare equal
/// differ at most in the order of fields, which schemas pay no heed to (enum, uniqueItems).
bson::Value withSortedFields(const bson::Element& value);

}  // namespace troupe::query
