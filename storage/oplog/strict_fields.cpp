#include "storage/oplog/strict_fields.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "messaging/errors/invariant.hpp"

namespace troupe::storage {

StrictFields::StrictFields(std::string_view what, bson::View document) : what_(what), document_(document) {
  for (const bson::Element& field : document) {
    hasMore_ = remembered_ == kRemembered;
    if (hasMore_) return;
    fields_[remembered_++] = field;
  }
}

bson::Element StrictFields::field(std::string_view name) const {
  const auto end = fields_.begin() + remembered_;
  const auto found = std::find_if(fields_.begin(), end, [&](const auto& field) { return field.name() == name; });
  if (found != end) return *found;
  return hasMore_ ? document_[name] : bson::Element();
}

Status StrictFields::malformed(std::string reason) const {
  return {ErrorCode::kFailedToParse, std::string(what_) + ": " + std::move(reason)};
}

Status StrictFields::allowOnly(std::span<const std::string_view> names) const {
  std::bitset<64> seen;
  invariant(names.size() <= seen.size(), "a document of few fields");
  for (const bson::Element& field : document_) {
    const auto found = std::find(names.begin(), names.end(), field.name());
    if (found == names.end()) return malformed("the field '" + std::string(field.name()) + "' is not known");
    const size_t position = found - names.begin();
    if (seen[position]) return malformed("the field '" + std::string(field.name()) + "' is there twice");
    seen.set(position);
  }
  return Status::OK();
}

StatusWith<bson::Element> StrictFields::required(std::string_view name, bson::Type type) const {
  TROUPE_ASSIGN(const bson::Element field, optional(name, type));
  if (!field) return malformed("'" + std::string(name) + "' is missing");
  return field;
}

StatusWith<bson::Element> StrictFields::optional(std::string_view name, bson::Type type) const {
  const bson::Element field = this->field(name);
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
