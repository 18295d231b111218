#pragma once
#include <string>

#include "messaging/bson/view.hpp"

namespace troupe::storage {

/// A document as messages about indexes show it: `{ a: 1, b: "x", c: ObjectId('...') }`.
std::string documentText(bson::View document);

}  // namespace troupe::storage
