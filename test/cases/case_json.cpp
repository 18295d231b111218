#include "test/cases/case_json.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "messaging/bson/json.hpp"

namespace troupe::cases {
namespace {

using Json = nlohmann::ordered_json;

/// Values that JSON has no notation for, by the name that their one or first field has.
bool isExtended(const Json& object) {
  static constexpr std::string_view kNames[] = {
      "$binary",       "$date",      "$maxKey",     "$minKey", "$numberDecimal",
      "$numberDouble", "$numberInt", "$numberLong", "$oid",    "$regularExpression",
      "$symbol",       "$timestamp", "$undefined",  "$uuid"};
  return object.size() == 1 &&
         std::find(std::begin(kNames), std::end(kNames), object.begin().key()) != std::end(kNames);
}

Status appendValue(bson::Builder& out, std::string_view name, const Json& value);

Status appendFields(bson::Builder& out, const Json& object) {
  for (const auto& [name, value] : object.items()) TROUPE_TRY(appendValue(out, name, value));
  return {};
}

Status appendItems(bson::Builder& out, const Json& array) {
  size_t index = 0;
  for (const auto& item : array) TROUPE_TRY(appendValue(out, std::to_string(index++), item));
  return {};
}

Status appendValue(bson::Builder& out, std::string_view name, const Json& value) {
  if (value.is_array() || (value.is_object() && !isExtended(value))) {
    value.is_array() ? out.openArray(name) : out.openDocument(name);
    TROUPE_TRY(value.is_array() ? appendItems(out, value) : appendFields(out, value));
    out.close();
    return {};
  }
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max())
      out.append(name, static_cast<int32_t>(number));
    else out.append(name, number);
    return {};
  }
  if (value.is_number()) return out.append(name, value.get<double>()), Status::OK();
  TROUPE_ASSIGN(const bson::Document leaf, bson::fromJson(Json{{"v", value}}.dump()));
  out.append(name, leaf.view().first());
  return {};
}

}  // namespace

StatusWith<bson::Document> readCase(std::string_view line) {
  Json json;
  try {
    json = Json::parse(line);
  } catch (const Json::exception& e) {
    return Status(ErrorCode::kFailedToParse, e.what());
  }
  if (!json.is_object()) return Status(ErrorCode::kFailedToParse, "a case is an object");
  bson::Builder out;
  TROUPE_TRY(appendFields(out, json));
  return out.finish();
}

}  // namespace troupe::cases
