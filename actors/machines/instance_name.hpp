#pragma once
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"

namespace troupe::machines {

/// {_id: ...} of a document; of one without `_id`, {_id: otherwise}.
bson::Document keyOfDocument(bson::View document, std::string_view otherwise);

/// The last part of the path of the instance with that key: the text of its `_id`, "/" and "%" escaped.
std::string instanceNameOf(bson::View key);

}  // namespace troupe::machines
