#pragma once
#include <cstdint>

#include "messaging/bson/view.hpp"

namespace troupe::query {

/// The number that a hashed index of MongoDB has for a value, for $toHashedIndexKey. Equal numbers of all types have
/// the same, for they are cut to integers first. The indexes of this server hash in another way.
int64_t hashedIndexKey(const bson::Element& value);

}  // namespace troupe::query
