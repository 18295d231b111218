#include "storage/oplog/strict_fields.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace troupe::storage {

Status StrictFields::malformed(std::string reason) const {
  return {ErrorCode::kFailedToParse, std::string(what_) + ": " + std::move(reason)};
}

Status StrictFields::allowOnly(std::span<const std::string_view> names) const {
  std::vector<bool> seen(names.size());
  for (const bson::Element& field : document_) {
    const auto found = std::find(names.begin(), names.end(), field.name());
    if (found == names.end()) return malformed("the field '" + std::string(field.name()) + "' is not known");
    const size_t position = found - names.begin();
    if (seen[position]) return malformed("the field '" + std::string(field.name()) + "' is there twice");
    seen[position] = true;
  }
  return Status::OK();
}

StatusWith<bson::Element> StrictFields::required(std::string_view name, bson::Type type) const {
  TROUPE_ASSIGN(const bson::Element field, optional(name, type));
  if (!field) return malformed("'" + std::string(name) + "' is missing");
  return field;
}

StatusWith<bson::Element> StrictFields::optional(std::string_view name, bson::Type type) const {
  const bson::Element field = document_[name];
  if (!field || field.is(type)) return field;
  return malformed("'" + std::string(name) + "' must be of type " + std::string(bson::typeName(type)) + ", not " +
                   std::string(bson::typeName(field.type())));
}

StatusWith<std::string> StrictFields::text(std::string_view name) const {
  TROUPE_ASSIGN(const bson::Element field, required(name, bson::Type::kString));
  return std::string(field.asString());
}

StatusWith<std::optional<bson::Uuid>> StrictFields::uuid(std::string_view name) const {
  TROUPE_ASSIGN(const bson::Element field, optional(name, bson::Type::kBinary));
  if (!field) return std::optional<bson::Uuid>();
  const bson::Binary binary = field.asBinary();
  if (binary.subtype != bson::kBinaryUuid || binary.bytes.size() != 16)
    return malformed("'" + std::string(name) + "' must be a UUID");
  bson::Uuid uuid;
  std::memcpy(uuid.bytes.data(), binary.bytes.data(), uuid.bytes.size());
  return std::optional(uuid);
}

}  // namespace troupe::storage
