#pragma once
#include <string>
#include <string_view>

#include "messaging/bson/validate.hpp"
#include "messaging/bson/view.hpp"

namespace troupe::storage {

/// A stored document, checked in full: for those that are few and on which much depends (users, state documents). Plans
/// read records without it, see RecordCursor. Errors: DataCorruptionDetected, which names `where`, a namespace.
inline StatusWith<bson::View> checkedDocument(std::string_view bytes, const std::string& where) {
  const auto size = bson::validate(bytes);
  if (size.isOK() && static_cast<size_t>(*size) == bytes.size()) return bson::View(bytes.data());
  return Status(ErrorCode::kDataCorruptionDetected, "a document of " + where + " is damaged: " +
                                                        (size.isOK() ? "bytes follow it" : size.status().reason()) +
                                                        "; run validate with repair");
}

}  // namespace troupe::storage
