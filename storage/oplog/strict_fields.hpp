#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Reads the fields of a document that another node or an older version of this one wrote: each of the type it must
/// have, or FailedToParse with the field's name. The document and `what`, which begins each message, are borrowed.
class StrictFields {
 public:
  StrictFields(std::string_view what, bson::View document) : what_(what), document_(document) {}

  bson::View document() const { return document_; }
  /// No field is there twice, or has another name.
  Status allowOnly(std::span<const std::string_view> names) const;
  StatusWith<bson::Element> required(std::string_view name, bson::Type type) const;
  /// Absent, or of that type.
  StatusWith<bson::Element> optional(std::string_view name, bson::Type type) const;
  StatusWith<std::string> text(std::string_view name) const;
  StatusWith<std::optional<bson::Uuid>> uuid(std::string_view name) const;
  Status malformed(std::string reason) const;

 private:
  std::string_view what_;
  bson::View document_;
};

}  // namespace troupe::storage
