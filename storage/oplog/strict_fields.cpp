#include "storage/oplog/strict_fields.hpp"

#include <algorithm>
#include <bitset>
#include <cstring>

#include "messaging/errors/invariant.hpp"

namespace troupe::storage {

namespace {

uint64_t sizeBit(std::string_view name) { return uint64_t{1} << std::min<size_t>(name.size(), 63); }

}  // namespace

StrictFields::StrictFields(std::string_view what, bson::View document) : what_(what), document_(document) {
  for (const bson::Element& field : document) {
    hasMore_ = remembered_ == kRemembered;
    if (hasMore_) return;
    fields_[remembered_++] = field;
    nameSizes_ |= sizeBit(field.name());
  }
}

bson::Element StrictFields::field(std::string_view name) const {
  if (!hasMore_ && (nameSizes_ & sizeBit(name)) == 0) return {};
  const auto end = fields_.begin() + remembered_;
  const auto found = std::find_if(fields_.begin(), end, [&](const auto& field) { return field.name() == name; });
  if (found != end) return *found;
  return hasMore_ ? document_[name] : bson::Element();
}

Status StrictFields::malformed(std::string reason) const {
  return {ErrorCode::kFailedToParse, std::string(what_) + ": " + std::move(reason)};
}

/// Fields come in the order of their names mostly: each is looked for behind the one before first.
template <class Fields>
Status StrictFields::allowOnly(const Fields& fields, std::span<const std::string_view> names) const {
  std::bitset<64> seen;
  invariant(names.size() <= seen.size(), "a document of few fields");
  auto next = names.begin();
  for (const bson::Element& field : fields) {
    auto found = std::find(next, names.end(), field.name());
    if (found == names.end()) found = std::find(names.begin(), next, field.name());
    if (found == names.end() || *found != field.name())
      return malformed("the field '" + std::string(field.name()) + "' is not known");
    const size_t position = found - names.begin();
    if (seen[position]) return malformed("the field '" + std::string(field.name()) + "' is there twice");
    seen.set(position);
    next = found + 1;
  }
  return Status::OK();
}

Status StrictFields::allowOnly(std::span<const std::string_view> names) const {
  if (hasMore_) return allowOnly(document_, names);
  return allowOnly(std::span(fields_).first(remembered_), names);
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
