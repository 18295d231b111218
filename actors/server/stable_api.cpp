#include "actors/server/stable_api.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace troupe::server {

namespace {

constexpr std::string_view kUnstableStages[] = {
    "$actors",       "$currentOp",      "$indexStats", "$listCatalog", "$listLocalSessions", "$listSearchIndexes",
    "$listSessions", "$planCacheStats", "$search",     "$searchMeta"};
constexpr std::string_view kUnstableIndexFields[] = {"background", "bucketSize", "sparse", "storageEngine"};
constexpr std::string_view kUnstableIndexTypes[] = {"text", "geoHaystack"};

bool among(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status refusal(const std::string& what) {
  return {ErrorCode::kAPIStrictError, what + " is not allowed with 'apiStrict: true' in API Version 1"};
}

Status checkNested(const bson::Element& stage) {
  if (!stage.is(bson::Type::kDocument)) return Status::OK();
  if (stage.name() == "$lookup" || stage.name() == "$unionWith") {
    const auto inner = stage.asDocument()["pipeline"];
    return inner.is(bson::Type::kArray) ? checkStagesInStableApi(inner.asArray()) : Status::OK();
  }
  if (stage.name() != "$facet") return Status::OK();
  for (const bson::Element& facet : stage.asDocument())
    if (facet.is(bson::Type::kArray)) TROUPE_TRY(checkStagesInStableApi(facet.asArray()));
  return Status::OK();
}

}  // namespace

Status checkStagesInStableApi(bson::View stages) {
  for (const bson::Element& each : stages) {
    if (!each.is(bson::Type::kDocument)) continue;
    const bson::Element stage = each.asDocument().first();
    if (among(stage.name(), kUnstableStages) || stage.name().starts_with("$_internal"))
      return refusal("stage " + std::string(stage.name()));
    if (stage.name() == "$collStats" && stage.is(bson::Type::kDocument)) {
      for (const bson::Element& figure : stage.asDocument())
        if (figure.name() != "count")
          return refusal("the parameter " + std::string(figure.name()) + " of stage $collStats");
    }
    TROUPE_TRY(checkNested(stage));
  }
  return Status::OK();
}

Status checkIndexInStableApi(bson::View specification) {
  for (const bson::Element& field : specification)
    if (among(field.name(), kUnstableIndexFields)) return refusal("the index option " + std::string(field.name()));
  const auto key = specification["key"];
  if (!key.is(bson::Type::kDocument)) return Status::OK();
  for (const bson::Element& part : key.asDocument())
    if (among(part.toStringOr(), kUnstableIndexTypes))
      return refusal("an index of type " + std::string(part.toStringOr()));
  return Status::OK();
}

}  // namespace troupe::server
