#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Reads the fields of a document that another node or an older version of this one wrote: each of the type it must
/// have, or FailedToParse with the field's name. The document and `what`, which begins each message, are borrowed.
/// The document is walked once; a member that catches up reads a dozen fields of each entry.
class StrictFields {
 public:
  StrictFields(std::string_view what, bson::View document);

  bson::View document() const { return document_; }
  /// Of any type, or absent.
  bson::Element field(std::string_view name) const;
  /// No field is there twice, or has another name.
  Status allowOnly(std::span<const std::string_view> names) const;
  StatusWith<bson::Element> required(std::string_view name, bson::Type type) const;
  /// Absent, or of that type.
  StatusWith<bson::Element> optional(std::string_view name, bson::Type type) const;
  StatusWith<std::string> text(std::string_view name) const;
  StatusWith<std::optional<bson::Uuid>> uuid(std::string_view name) const;
  Status malformed(std::string reason) const;

 private:
  template <class Fields>
  Status allowOnly(const Fields& fields, std::span<const std::string_view> names) const;

  /// More than an entry of the oplog has; further fields are looked for in the document.
  static constexpr size_t kRemembered = 20;

  std::string_view what_;
  bson::View document_;
  std::array<bson::Element, kRemembered> fields_;  ///< its first ones
  size_t remembered_ = 0;
  /// A bit for each size of a name, and one for all from 63 on. Most fields that an entry may have are absent, and no
  /// name of their size is there.
  uint64_t nameSizes_ = 0;
  bool hasMore_ = false;
};

}  // namespace troupe::storage
