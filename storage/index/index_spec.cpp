#include "storage/index/index_spec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/numeric.hpp"
#include "storage/index/document_text.hpp"

namespace troupe::storage {
namespace {

using bson::Element;
using bson::Type;

Status cannotCreate(std::string reason) { return {ErrorCode::kCannotCreateIndex, std::move(reason)}; }

constexpr std::array<std::string_view, 6> kKindsNotServed = {"text",        "2d",         "2dsphere", "2dsphere_bucket",
                                                             "columnstore", "geoHaystack"};
/// Options known to drivers besides those parsed here; kept as given.
constexpr std::array<std::string_view, 16> kKeptOptions = {"background",
                                                           "storageEngine",
                                                           "weights",
                                                           "default_language",
                                                           "language_override",
                                                           "textIndexVersion",
                                                           "2dsphereIndexVersion",
                                                           "bits",
                                                           "min",
                                                           "max",
                                                           "bucketSize",
                                                           "dropDups",
                                                           "clustered",
                                                           "originalSpec",
                                                           "ns",
                                                           "finestIndexedLevel"};
constexpr std::array<std::string_view, 8> kIdIndexOptions = {"key",       "name",       "v",         "ns",
                                                             "collation", "background", "clustered", "unique"};

Status checkPath(std::string_view path) {
  if (path.empty()) return cannotCreate("Index keys cannot be an empty field.");
  if (path.front() == '.' || path.back() == '.' || path.find("..") != std::string_view::npos)
    return cannotCreate("Index keys cannot contain an empty field.");
  for (size_t at = 0; at != std::string_view::npos; at = path.find('.', at)) {
    if (at > 0) ++at;
    if (path[at] == '$' && !path.substr(at).starts_with("$ref") && !path.substr(at).starts_with("$id") &&
        !path.substr(at).starts_with("$db"))
      return cannotCreate("Index key contains an illegal field name: field name starts with '$'.");
  }
  if (path == "$**" || path.ends_with(".$**")) return cannotCreate("wildcard indexes are not served yet");
  return Status::OK();
}

Status parseField(const Element& e, IndexSpec& out) {
  if (e.name() == "$**" || e.name().ends_with(".$**")) return cannotCreate("wildcard indexes are not served yet");
  TROUPE_TRY(checkPath(e.name()));
  IndexField field{std::string(e.name()), false};
  if (e.isNumber()) {
    const double direction = e.toDouble();
    if (direction == 0) return cannotCreate("Values in the index key pattern cannot be 0.");
    if (std::isnan(direction)) return cannotCreate("Values in the index key pattern cannot be NaN.");
    field.descending = direction < 0;
  } else if (e.is(Type::kString)) {
    const std::string_view kind = e.asString();
    if (std::find(kKindsNotServed.begin(), kKindsNotServed.end(), kind) != kKindsNotServed.end())
      return cannotCreate("indexes of type '" + std::string(kind) + "' are not served yet");
    if (kind != "hashed") return cannotCreate("Unknown index plugin '" + std::string(kind) + "'");
    if (out.kind == IndexKind::kHashed)
      return {ErrorCode(31303),
              "A maximum of one index field is allowed to be hashed but found 2 for 'key' " + documentText(out.key)};
    out.kind = IndexKind::kHashed;
  } else {
    return cannotCreate("Values in v:2 index key pattern cannot be of type " + std::string(typeName(e.type())) +
                        ". Only numbers > 0, numbers < 0, and strings are allowed.");
  }
  for (const auto& other : out.fields)
    if (other.path == field.path) return cannotCreate("Index key pattern names the field '" + field.path + "' twice");
  out.fields.push_back(std::move(field));
  return Status::OK();
}

Status parseKey(const Element& e, IndexSpec& out) {
  if (!e.is(Type::kDocument))
    return {ErrorCode::kTypeMismatch, "The field 'key' must be an object, but got " + std::string(typeName(e.type()))};
  out.key = bson::Document(e.asDocument());
  if (out.key.empty()) return cannotCreate("Index keys cannot be an empty object");
  for (const auto& field : out.key.view()) {
    if (out.fields.size() == kMaxIndexFields)
      return {ErrorCode(13103), "Index key pattern too large: at most 32 fields are allowed"};
    TROUPE_TRY(parseField(field, out));
  }
  out.idIndex = out.fields.size() == 1 && out.fields[0].path == "_id" && !out.fields[0].descending &&
                out.kind == IndexKind::kOrdered;
  return Status::OK();
}

StatusWith<bool> parseFlag(const Element& e) {
  if (!e.is(Type::kBool) && !e.isNumber())
    return Status(ErrorCode::kTypeMismatch, "The field '" + std::string(e.name()) + "' has value " +
                                                std::string(typeName(e.type())) + ", which is not convertible to bool");
  return e.truthy();
}

Status parseExpiry(const Element& e, bson::View spec, IndexSpec& out) {
  if (!e.isNumber())
    return cannotCreate("TTL index 'expireAfterSeconds' option must be numeric, but received a type of '" +
                        std::string(typeName(e.type())) + "'. Index spec: " + documentText(spec));
  const double seconds = e.toDouble();
  if (std::isnan(seconds) || seconds < 0 || seconds > INT32_MAX)
    return cannotCreate(
        "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different number. Index "
        "spec: " +
        documentText(spec));
  out.expireAfterSeconds = static_cast<int64_t>(seconds);
  return Status::OK();
}

Status parseName(const Element& e, IndexSpec& out) {
  if (!e.is(Type::kString))
    return {ErrorCode::kTypeMismatch, "The field 'name' must be a string, but got " + std::string(typeName(e.type()))};
  out.name = e.asString();
  if (out.name.empty()) return cannotCreate("index name cannot be empty");
  if (out.name.find('\0') != std::string::npos) return cannotCreate("index name cannot contain NUL bytes");
  if (out.name == "*") return {ErrorCode::kBadValue, "The index name '*' is not valid."};
  return Status::OK();
}

Status parseVersion(const Element& e) {
  if (!e.isNumber())
    return {ErrorCode::kTypeMismatch, "The field 'v' must be a number, but got " + std::string(typeName(e.type()))};
  const auto exact = bson::integerOf(e);
  if (!exact.isOK()) return {ErrorCode::kBadValue, "The field 'v' must be an integer, but got a fraction"};
  const int64_t version = *exact;
  if (version == 1 || version == 2) return Status::OK();
  return cannotCreate("Invalid index version v=" + std::to_string(version) + ": only 1 and 2 are supported");
}

Status parseDocumentOption(const Element& e, bson::Document& out) {
  if (!e.is(Type::kDocument))
    return {ErrorCode::kTypeMismatch,
            "The field '" + std::string(e.name()) + "' must be an object, but got " + std::string(typeName(e.type()))};
  out = bson::Document(e.asDocument());
  return Status::OK();
}

Status parseOption(const Element& e, bson::View spec, bool strict, IndexSpec& out) {
  const std::string_view name = e.name();
  if (name == "key" || name == "name") return Status::OK();
  if (name == "v") return parseVersion(e);
  if (name == "expireAfterSeconds") return parseExpiry(e, spec, out);
  if (name == "collation") {
    TROUPE_TRY(parseDocumentOption(e, out.collation));
    if (strict && out.collation.empty())
      return {ErrorCode::kBadValue, "the collation of an index cannot be an empty object"};
    return Status::OK();
  }
  if (name == "partialFilterExpression") return parseDocumentOption(e, out.partialFilter.emplace());
  if (name == "wildcardProjection" || name == "columnstoreProjection") {
    bson::Document projection;
    TROUPE_TRY(parseDocumentOption(e, projection));
    return {ErrorCode::kBadValue,
            "The field '" + std::string(name) + "' is only allowed in wildcard indexes, which are not served yet"};
  }
  if (strict && name == "clustered" && e.truthy() && !out.idIndex)
    return {ErrorCode::kInvalidOptions, "'clustered' is only supported for the key {_id: 1}"};
  if (strict && name == "weights") return cannotCreate("the field 'weights' is only allowed in text indexes");
  bool* flag = name == "unique"          ? &out.unique
               : name == "sparse"        ? &out.sparse
               : name == "hidden"        ? &out.hidden
               : name == "prepareUnique" ? &out.prepareUnique
                                         : nullptr;
  if (flag) {
    TROUPE_ASSIGN(*flag, parseFlag(e));
    return Status::OK();
  }
  if (!strict || std::find(kKeptOptions.begin(), kKeptOptions.end(), name) != kKeptOptions.end()) return Status::OK();
  return {ErrorCode::kInvalidIndexSpecificationOption,
          "The field '" + std::string(name) +
              "' is not valid for an index specification. Specification: " + documentText(spec)};
}

/// Of an index on `_id` alone there is one order.
Status checkIdOrder(const IndexSpec& spec) {
  const bool isOfId = spec.fields.size() == 1 && spec.fields.front().path == "_id";
  if (!isOfId || !spec.fields.front().descending) return Status::OK();
  return {ErrorCode::kBadValue, "The field 'key' for an _id index must be {_id: 1}, but got " + documentText(spec.key)};
}

Status checkIdIndex(bson::View spec, IndexSpec& out) {
  if (!out.idIndex) {
    if (out.name == "_id_")
      return {ErrorCode::kBadValue,
              "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}, found key: " +
                  documentText(out.key)};
    return Status::OK();
  }
  for (const auto& e : spec)
    if (std::find(kIdIndexOptions.begin(), kIdIndexOptions.end(), e.name()) == kIdIndexOptions.end())
      return {ErrorCode::kInvalidIndexSpecificationOption,
              "The field '" + std::string(e.name()) +
                  "' is not valid for an _id index specification. Specification: " + documentText(spec)};
  out.name = "_id_";
  return Status::OK();
}

Status checkCombinations(bson::View spec, const IndexSpec& out) {
  if (out.partialFilter && out.sparse)
    return cannotCreate("cannot mix \"partialFilterExpression\" and \"sparse\" options");
  if (out.kind == IndexKind::kHashed && out.isUnique())
    return {ErrorCode(16764), "Currently hashed indexes cannot guarantee uniqueness. Use a regular index."};
  if (out.expireAfterSeconds && out.fields.size() > 1)
    return cannotCreate("TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: " +
                        documentText(spec));
  if (out.prepareUnique && out.kind == IndexKind::kHashed)
    return cannotCreate("hashed indexes cannot be prepared to become unique");
  return Status::OK();
}

/// Fills in the collation's fields; the simple collation is kept as none.
Status resolveCollation(bson::View defaultCollation, IndexSpec& out) {
  if (out.collation.empty()) {
    out.collation = bson::Document(defaultCollation);
  } else {
    TROUPE_ASSIGN(auto collator, bson::Collator::parse(out.collation));
    out.collation = collator ? collator->specification() : bson::Document();
  }
  return Status::OK();
}

bson::Document storedForm(bson::View spec, const IndexSpec& parsed) {
  bson::Builder out;
  if (spec["v"].isNumber()) {
    out.append("v", static_cast<int32_t>(spec["v"].toInt64()));
  } else {
    out.append("v", 2);
  }
  out.append("key", parsed.key).append("name", parsed.name);
  for (const auto& e : spec) {
    const std::string_view name = e.name();
    if (name == "v" || name == "key" || name == "name" || name == "ns" || name == "collation") continue;
    if (parsed.idIndex && name == "unique") continue;
    out.append(e);
  }
  if (!parsed.collation.empty()) out.append("collation", parsed.collation);
  return out.finish();
}

}  // namespace

uint32_t IndexSpec::descendingMask() const {
  uint32_t mask = 0;
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].descending) mask |= 1u << i;
  return mask;
}

StatusWith<IndexSpec> parseIndexSpec(bson::View spec, bson::View defaultCollation, bool strict) {
  IndexSpec out;
  const Element key = spec["key"];
  const Element name = spec["name"];
  if (!key.ok())
    return Status(ErrorCode::kFailedToParse, "The 'key' field is a required property of an index specification");
  TROUPE_TRY(parseKey(key, out));
  if (!name.ok())
    return Status(ErrorCode::kFailedToParse, "The 'name' field is a required property of an index specification");
  TROUPE_TRY(parseName(name, out));
  std::set<std::string_view> seen;
  for (const auto& e : spec) {
    if (!seen.insert(e.name()).second)
      return Status(ErrorCode::kBadValue,
                    "The field '" + std::string(e.name()) + "' appears multiple times in the index specification");
    TROUPE_TRY(parseOption(e, spec, strict, out));
  }
  if (strict) TROUPE_TRY(checkIdOrder(out));
  TROUPE_TRY(checkIdIndex(spec, out));
  TROUPE_TRY(checkCombinations(spec, out));
  TROUPE_TRY(resolveCollation(defaultCollation, out));
  out.stored = storedForm(spec, out);
  return out;
}

bson::Document listedSpec(const IndexSpec& spec) {
  constexpr std::array<std::string_view, 5> kFlags = {"unique", "sparse", "background", "hidden", "prepareUnique"};
  bson::Builder out;
  for (const auto& e : spec.stored.view()) {
    if (std::find(kFlags.begin(), kFlags.end(), e.name()) != kFlags.end()) {
      if (e.truthy()) out.append(e.name(), true);
    } else if (e.name() == "expireAfterSeconds" || e.name() == "bits") {
      out.append(e.name(), static_cast<int32_t>(e.toInt64()));
    } else {
      out.append(e);
    }
  }
  return out.finish();
}

std::string defaultIndexName(bson::View key) {
  std::string name;
  for (const auto& e : key) {
    if (!name.empty()) name += '_';
    name.append(e.name()).append("_");
    if (e.isNumber()) {
      name += std::to_string(e.toInt64());
    } else {
      name += e.toStringOr();
    }
  }
  return name;
}

Status checkIdIndexSpec(bson::View spec, bson::View collectionCollation) {
  constexpr std::array<std::string_view, 5> kFields = {"key", "name", "v", "ns", "collation"};
  for (const auto& e : spec)
    if (std::find(kFields.begin(), kFields.end(), e.name()) == kFields.end())
      return {ErrorCode::kInvalidIndexSpecificationOption,
              "The field '" + std::string(e.name()) +
                  "' is not valid for an _id index specification. Specification: " + documentText(spec)};
  // What else the key is leaves the kind of index open: that it is not {_id: 1} counts first.
  if (const Element key = spec["key"]; key.is(Type::kDocument) && !(key.asDocument() == bson::doc("_id", 1).view()) &&
                                       !(key.asDocument().count() == 1 && key.asDocument()["_id"].toDouble() == 1))
    return {ErrorCode::kBadValue,
            "The field 'key' for an _id index must be {_id: 1}, but got " + documentText(key.asDocument())};
  TROUPE_ASSIGN(const IndexSpec parsed, parseIndexSpec(spec, collectionCollation));
  if (parsed.collation.view() == collectionCollation) return Status::OK();
  return {ErrorCode::kBadValue, "The _id index must have the same collation as the collection. Index collation: " +
                                    documentText(parsed.collation) +
                                    ", collection collation: " + documentText(collectionCollation)};
}

IndexSpec idIndexSpec(bson::View defaultCollation) {
  return *parseIndexSpec(bson::doc("v", 2, "key", bson::doc("_id", 1), "name", "_id_"), defaultCollation);
}

StatusWith<SpecMatch> compareSpecs(const IndexSpec& wanted, const IndexSpec& existing) {
  const auto sameFilter = [&] {
    if (wanted.partialFilter.has_value() != existing.partialFilter.has_value()) return false;
    return !wanted.partialFilter || *wanted.partialFilter == *existing.partialFilter;
  };
  const auto samePattern = [&] {
    return wanted.kind == existing.kind &&
           std::equal(wanted.fields.begin(), wanted.fields.end(), existing.fields.begin(), existing.fields.end(),
                      [](const IndexField& a, const IndexField& b) {
                        return a.path == b.path && a.descending == b.descending;
                      });
  };
  const bool sameIndex = samePattern() && wanted.collation == existing.collation && sameFilter() &&
                         wanted.isUnique() == existing.isUnique() && wanted.sparse == existing.sparse;
  const bool sameOptions = wanted.expireAfterSeconds == existing.expireAfterSeconds && wanted.hidden == existing.hidden;
  const std::string both =
      " Requested index: " + documentText(wanted.stored) + ", existing index: " + documentText(existing.stored);
  if (wanted.name == existing.name) {
    if (sameIndex && sameOptions) return SpecMatch::kIdentical;
    if (sameIndex)
      return Status(ErrorCode::kIndexOptionsConflict,
                    "An equivalent index already exists with the same name but different options." + both);
    return Status(
        ErrorCode::kIndexKeySpecsConflict,
        "An existing index has the same name as the requested index. When index names are not specified, they are "
        "auto generated and can cause conflicts. Please refer to our documentation." +
            both);
  }
  if (!sameIndex) return SpecMatch::kDistinct;
  if (sameOptions)
    return Status(ErrorCode::kIndexOptionsConflict, "Index already exists with a different name: " + existing.name);
  return Status(ErrorCode::kIndexOptionsConflict,
                "An equivalent index already exists with a different name and options." + both);
}

IndexSpec changedSpec(const IndexSpec& spec, const SpecChange& change) {
  IndexSpec next = spec;
  bson::Builder out;
  const auto replaced = [&](std::string_view name) {
    return (change.hidden && name == "hidden") || (change.unique && name == "unique") ||
           ((change.prepareUnique || change.unique) && name == "prepareUnique") ||
           (change.expireAfterSeconds && name == "expireAfterSeconds");
  };
  for (const auto& e : spec.stored.view())
    if (!replaced(e.name())) out.append(e);
  if (change.hidden && *change.hidden) out.append("hidden", true);
  if (change.unique && *change.unique) out.append("unique", true);
  if (change.prepareUnique && *change.prepareUnique && !change.unique) out.append("prepareUnique", true);
  if (change.expireAfterSeconds) out.append("expireAfterSeconds", *change.expireAfterSeconds);
  next.hidden = change.hidden.value_or(spec.hidden);
  next.unique = change.unique.value_or(spec.unique);
  next.prepareUnique = !change.unique && change.prepareUnique.value_or(spec.prepareUnique);
  if (change.expireAfterSeconds) next.expireAfterSeconds = change.expireAfterSeconds;
  next.stored = out.finish();
  return next;
}

}  // namespace troupe::storage
