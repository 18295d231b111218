#include "storage/catalog/collection_options.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "messaging/bson/collation.hpp"
#include "storage/engine/table_config.hpp"

namespace troupe::storage {
namespace {

using bson::Element;
using bson::Type;

Status wrongType(const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field 'create." + std::string(e.name()) + "' is the wrong type '" +
                                        std::string(typeName(e.type())) + "', expected type '" + std::string(expected) +
                                        "'"};
}

Status invalidOption(std::string reason) { return {ErrorCode::kInvalidOptions, std::move(reason)}; }

Status readFlag(const Element& e, bool& out) {
  if (!e.is(Type::kBool) && !e.isNumber()) return wrongType(e, "bool");
  out = e.truthy();
  return Status::OK();
}

Status readDocument(const Element& e, std::optional<bson::Document>& out) {
  if (!e.is(Type::kDocument)) return wrongType(e, "object");
  out = bson::Document(e.asDocument());
  return Status::OK();
}

Status readChoice(const Element& e, std::initializer_list<std::string_view> choices, std::string& out) {
  if (!e.is(Type::kString)) return wrongType(e, "string");
  for (const auto choice : choices)
    if (choice == e.asString()) {
      out = choice;
      return Status::OK();
    }
  return {ErrorCode::kBadValue, "Enumeration value '" + std::string(e.asString()) + "' for field 'create." +
                                    std::string(e.name()) + "' is not a valid value."};
}

Status readSize(const Element& e, CollectionOptions& out) {
  if (!e.isNumber()) return wrongType(e, "long");
  const int64_t bytes = e.toInt64();
  if (bytes < 1)
    return {ErrorCode::kBadValue, "BSON field 'size' value must be >= 1, actual value '" + std::to_string(bytes) + "'"};
  constexpr int64_t kMaxSize = int64_t{1} << 50;
  if (bytes > kMaxSize) return {ErrorCode::kBadValue, "Cannot allocate a collection of more than 1 petabyte"};
  out.cappedSize = roundedCappedSize(bytes);
  return Status::OK();
}

Status readMax(const Element& e, CollectionOptions& out) {
  if (!e.isNumber()) return wrongType(e, "long");
  const int64_t max = e.toInt64();
  if (max >= INT32_MAX) return {ErrorCode::kBadValue, "max in a capped collection has to be < 2^31 or not set"};
  out.cappedMax = std::max<int64_t>(max, 0);
  return Status::OK();
}

Status readCollation(const Element& e, CollectionOptions& out) {
  if (!e.is(Type::kDocument)) return wrongType(e, "object");
  TROUPE_ASSIGN(auto collator, bson::Collator::parse(e.asDocument()));
  if (collator) out.collation = collator->specification();
  return Status::OK();
}

Status readView(const Element& e, CollectionOptions& out) {
  if (e.name() == "viewOn") {
    if (!e.is(Type::kString)) return wrongType(e, "string");
    if (e.asString().empty()) return {ErrorCode::kBadValue, "'viewOn' cannot be empty"};
    out.viewOn = e.asString();
    return Status::OK();
  }
  if (!e.is(Type::kArray)) return wrongType(e, "array");
  for (const auto& stage : e.asArray())
    if (!stage.is(Type::kDocument)) return wrongType(e, "array of objects");
  out.pipeline = bson::Document(e.asArray());
  return Status::OK();
}

Status readExpiry(const Element& e, CollectionOptions& out) {
  if (e.is(Type::kString) && e.asString() == "off") return Status::OK();
  if (!e.isNumber()) return wrongType(e, "long");
  out.expireAfterSeconds = e.toInt64();
  if (*out.expireAfterSeconds < 0) return invalidOption("collection option 'expireAfterSeconds' must not be negative");
  if (*out.expireAfterSeconds > std::numeric_limits<int64_t>::max() / 1000)
    return invalidOption("collection option 'expireAfterSeconds' is too large to be a time");
  return Status::OK();
}

Status readPreImages(const Element& e, CollectionOptions& out) {
  if (!e.is(Type::kDocument)) return wrongType(e, "object");
  TROUPE_ASSIGN(out.recordPreImages, parsePreImages(e.asDocument(), "create"));
  return Status::OK();
}

Status readUuid(const Element& e, CollectionOptions& out) {
  if (!e.is(Type::kBinary) || e.asBinary().subtype != bson::kBinaryUuid || e.asBinary().bytes.size() != 16)
    return {ErrorCode::kInvalidUUID, "the collection's uuid is not a UUID"};
  out.uuid.emplace();
  std::memcpy(out.uuid->bytes.data(), e.asBinary().bytes.data(), 16);
  return Status::OK();
}

/// The specification as it is kept: version, key, name, unique.
Status readClustered(const Element& e, CollectionOptions& out) {
  if (e.is(Type::kBool)) {
    if (e.asBool()) out.clusteredIndex = bson::doc("v", 2, "key", bson::doc("_id", 1), "name", "_id_", "unique", true);
    return Status::OK();
  }
  TROUPE_TRY(readDocument(e, out.clusteredIndex));
  const bson::View given = e.asDocument();
  for (const auto& field : given)
    if (field.name() != "v" && field.name() != "key" && field.name() != "name" && field.name() != "unique")
      return {ErrorCode::kUnknownField,
              "BSON field 'create.clusteredIndex." + std::string(field.name()) + "' is an unknown field."};
  const auto key = given["key"];
  if (!key.is(Type::kDocument) || key.asDocument().count() != 1 || key.asDocument()["_id"].toInt64() != 1)
    return invalidOption("The clusteredIndex option is only supported for key: {_id: 1}");
  if (!given["unique"].truthy())
    return invalidOption("The clusteredIndex option requires unique: true to be specified");
  const auto version = given["v"], name = given["name"];
  if (!version.isNullish() && version.toInt64() != 2)
    return invalidOption("The clusteredIndex option is only supported for v: 2");
  if (!name.isNullish() && (!name.is(Type::kString) || name.asString().empty()))
    return invalidOption("The name of the clusteredIndex must be a string");
  out.clusteredIndex = bson::doc("v", 2, "key", bson::doc("_id", 1), "name", name.toStringOr("_id_"), "unique", true);
  return Status::OK();
}

/// MongoDB takes `clusteredIndex: true` for the buckets of time-series collections alone, which this server does not
/// have (CLU-001). What a catalog or a log holds is read in either form.
Status refuseLegacyClustering(const Element& e) {
  if (e.name() != "clusteredIndex" || !e.is(Type::kBool) || !e.asBool()) return Status::OK();
  return invalidOption(
      "The legacy format {clusteredIndex: true} is only supported for buckets of time-series collections, which this "
      "server does not serve yet: give clusteredIndex: {key: {_id: 1}, unique: true}");
}

/// What is meant for the storage engine: {wiredTiger: {configString}}.
Status checkEngineOptions(bson::View engines) {
  for (const auto& engine : engines) {
    if (engine.name() != "wiredTiger")
      return invalidOption("\"" + std::string(engine.name()) + "\" is not a storage engine of this server");
    if (!engine.is(Type::kDocument))
      return {ErrorCode::kBadValue, "'storageEngine.wiredTiger' has to be an embedded document"};
    for (const auto& option : engine.asDocument()) {
      if (option.name() != "configString")
        return invalidOption("'" + std::string(option.name()) + "' is not an option of wiredTiger");
      if (!option.is(Type::kString)) return wrongType(option, "string");
      TROUPE_TRY(checkTableConfig(option.asString()));
    }
  }
  return Status::OK();
}

/// Of what clients give: rows of the catalog that were stored before it was checked stay readable.
Status checkEngineOptions(const CollectionOptions& options) {
  if (options.storageEngine) TROUPE_TRY(checkEngineOptions(*options.storageEngine));
  if (!options.indexOptionDefaults) return Status::OK();
  for (const auto& option : options.indexOptionDefaults->view()) {
    if (option.name() != "storageEngine")
      return {ErrorCode::kUnknownField,
              "BSON field 'create.indexOptionDefaults." + std::string(option.name()) + "' is an unknown field."};
    if (!option.is(Type::kDocument)) return wrongType(option, "object");
    TROUPE_TRY(checkEngineOptions(option.asDocument()));
  }
  return Status::OK();
}

struct Option {
  std::string_view name;
  Status (*read)(const Element&, CollectionOptions&);
};
constexpr Option kOptions[] = {
    {"capped", [](const Element& e, CollectionOptions& o) { return readFlag(e, o.capped); }},
    {"size", readSize},
    {"max", readMax},
    {"temp", [](const Element& e, CollectionOptions& o) { return readFlag(e, o.temp); }},
    {"validator", [](const Element& e, CollectionOptions& o) { return readDocument(e, o.validator); }},
    {"validationLevel",
     [](const Element& e, CollectionOptions& o) {
       return readChoice(e, {"off", "moderate", "strict"}, o.validationLevel);
     }},
    {"validationAction",
     [](const Element& e, CollectionOptions& o) {
       return readChoice(e, {"error", "warn"}, o.validationAction);
     }},
    {"collation", readCollation},
    {"viewOn", readView},
    {"pipeline", readView},
    {"timeseries", [](const Element& e, CollectionOptions& o) { return readDocument(e, o.timeseries); }},
    {"clusteredIndex", readClustered},
    {"expireAfterSeconds", readExpiry},
    {"changeStreamPreAndPostImages", readPreImages},
    {"storageEngine", [](const Element& e, CollectionOptions& o) { return readDocument(e, o.storageEngine); }},
    {"indexOptionDefaults",
     [](const Element& e, CollectionOptions& o) { return readDocument(e, o.indexOptionDefaults); }},
    {"uuid", readUuid},
};

/// Fields of the command that every command may carry, or that say nothing about the collection.
bool isGeneric(std::string_view name) {
  constexpr std::array<std::string_view, 17> kNames = {
      "create",      "comment",    "writeConcern",     "readConcern",     "maxTimeMS",           "lsid",
      "txnNumber",   "autocommit", "startTransaction", "apiVersion",      "apiStrict",           "apiDeprecationErrors",
      "autoIndexId", "flags",      "idIndex",          "encryptedFields", "bucketMaxSpanSeconds"};
  if (name.starts_with('$')) return true;
  for (const auto known : kNames)
    if (known == name) return true;
  return false;
}

Status checkCombinations(const CollectionOptions& o, bool hasSize) {
  if (o.capped && !hasSize) return invalidOption("the 'size' field is required when 'capped' is true");
  if (!o.capped && (hasSize || o.cappedMax > 0))
    return invalidOption("the 'capped' field needs to be true when either the 'size' or 'max' fields are present");
  if (o.isView() && (o.capped || o.validator || o.timeseries || o.clusteredIndex || o.storageEngine ||
                     o.recordPreImages || !o.validationLevel.empty() || !o.validationAction.empty()))
    return invalidOption("options not supported on a view");
  if (!o.isView() && o.pipeline) return invalidOption("'pipeline' requires 'viewOn' to also be specified");
  if (o.timeseries && !(*o.timeseries)["timeField"].is(Type::kString))
    return {ErrorCode::kMissingRequiredField,
            "BSON field 'create.timeseries.timeField' is missing but a required field"};
  if (o.expireAfterSeconds && !o.timeseries && !o.clusteredIndex)
    return invalidOption(
        "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is "
        "specified");
  if (o.capped && (o.clusteredIndex || o.timeseries))
    return invalidOption("The 'capped' option goes with neither 'clusteredIndex' nor 'timeseries'");
  return Status::OK();
}

}  // namespace

int64_t roundedCappedSize(int64_t bytes) { return (bytes + 255) & ~int64_t{255}; }

StatusWith<bool> parsePreImages(bson::View images, std::string_view command) {
  const auto path = [&](std::string_view field) {
    return "BSON field '" + std::string(command) + ".changeStreamPreAndPostImages." + std::string(field) + "'";
  };
  for (const auto& e : images)
    if (e.name() != "enabled") return Status(ErrorCode::kUnknownField, path(e.name()) + " is an unknown field.");
  const Element enabled = images["enabled"];
  if (enabled.isNullish())
    return Status(ErrorCode::kMissingRequiredField, path("enabled") + " is missing but a required field");
  if (!enabled.is(Type::kBool))
    return Status(ErrorCode::kTypeMismatch, path("enabled") + " is the wrong type '" +
                                                std::string(typeName(enabled.type())) + "', expected type 'bool'");
  return enabled.asBool();
}

StatusWith<CollectionOptions> parseCollectionOptions(bson::View options, bool stored) {
  CollectionOptions out;
  bool hasSize = false;
  for (const auto& e : options) {
    const Option* option = nullptr;
    for (const auto& candidate : kOptions)
      if (candidate.name == e.name()) option = &candidate;
    if (!option) {
      if (stored || isGeneric(e.name())) continue;
      return Status(ErrorCode::kUnknownField, "BSON field 'create." + std::string(e.name()) + "' is an unknown field.");
    }
    if (e.isNullish()) continue;
    if (!stored) TROUPE_TRY(refuseLegacyClustering(e));
    TROUPE_TRY(option->read(e, out));
    hasSize = hasSize || e.name() == "size";
  }
  if (stored) return out;
  TROUPE_TRY(checkEngineOptions(out));
  TROUPE_TRY(checkCombinations(out, hasSize));
  return out;
}

namespace {

/// As an int where it fits, as sizes are shown.
void appendShort(bson::Builder& out, std::string_view name, int64_t number) {
  const auto narrow = static_cast<int32_t>(number);
  if (narrow == number) out.append(name, narrow);
  else out.append(name, number);
}

}  // namespace

bson::Document CollectionOptions::toDocument(bool withUuid) const {
  bson::Builder b;
  if (withUuid && uuid) b.append("uuid", *uuid);
  if (capped) b.append("capped", true);
  if (capped) appendShort(b, "size", cappedSize);
  if (cappedMax > 0) appendShort(b, "max", cappedMax);
  if (temp) b.append("temp", true);
  if (recordPreImages) b.append("changeStreamPreAndPostImages", bson::doc("enabled", true));
  if (storageEngine) b.append("storageEngine", *storageEngine);
  if (indexOptionDefaults) b.append("indexOptionDefaults", *indexOptionDefaults);
  if (validator) b.append("validator", *validator);
  if (!validationLevel.empty()) b.append("validationLevel", validationLevel);
  if (!validationAction.empty()) b.append("validationAction", validationAction);
  if (!collation.empty()) b.append("collation", collation);
  if (isView()) {
    b.append("viewOn", viewOn);
    b.appendArray("pipeline", pipeline ? pipeline->view() : bson::View());
  }
  if (timeseries) b.append("timeseries", *timeseries);
  if (clusteredIndex) b.append("clusteredIndex", *clusteredIndex);
  if (expireAfterSeconds) b.append("expireAfterSeconds", *expireAfterSeconds);
  return b.finish();
}

bool CollectionOptions::sameAs(const CollectionOptions& other) const {
  return toDocument(false) == other.toDocument(false);
}

}  // namespace troupe::storage
