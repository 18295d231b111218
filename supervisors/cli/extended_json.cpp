#include "supervisors/cli/extended_json.hpp"

#include <nlohmann/json.hpp>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

using Json = nlohmann::ordered_json;

Status badJson(std::string_view what) { return {ErrorCode::kFailedToParse, "invalid JSON: " + std::string(what)}; }

Status appendDocument(bson::Builder& b, const Json& object);

Status appendCode(bson::Builder& b, std::string_view name, const Json& object) {
  const auto& code = object["$code"];
  if (!code.is_string() || object.size() > 2 || (object.size() == 2 && !object.contains("$scope")))
    return badJson("$code must be a string, perhaps with a $scope");
  const auto& text = code.get_ref<const std::string&>();
  if (object.size() == 1) return b.append(name, bson::Code{text}), Status::OK();
  if (!object["$scope"].is_object()) return badJson("$scope must be an object");
  bson::Builder scopeBuilder;
  TROUPE_TRY(appendDocument(scopeBuilder, object["$scope"]));
  const bson::Document scope = scopeBuilder.finish();
  // int32 total size, string, document
  std::string value;
  const auto putInt = [&](size_t n) {
    const auto v = static_cast<int32_t>(n);
    value.append(reinterpret_cast<const char*>(&v), sizeof v);
  };
  putInt(4 + 4 + text.size() + 1 + scope.bytes().size());
  putInt(text.size() + 1);
  value.append(text).push_back('\0');
  value.append(scope.bytes());
  b.appendRaw(name, bson::Type::kCodeWithScope, value);
  return {};
}

Status appendPointer(bson::Builder& b, std::string_view name, const Json& object) {
  const auto& pointer = object["$dbPointer"];
  if (!pointer.is_object() || !pointer.contains("$ref") || !pointer["$ref"].is_string() || !pointer.contains("$id") ||
      !pointer["$id"].is_object() || !pointer["$id"].contains("$oid") || !pointer["$id"]["$oid"].is_string())
    return badJson("$dbPointer must have $ref and $id");
  const auto id = bson::ObjectId::fromString(pointer["$id"]["$oid"].get_ref<const std::string&>());
  if (!id) return badJson("the $oid of a $dbPointer must be 24 hexadecimal digits");
  b.append(name, bson::DBPointer{pointer["$ref"].get_ref<const std::string&>(), *id});
  return {};
}

Status appendValue(bson::Builder& b, std::string_view name, const Json& value) {
  if (value.is_array()) {
    b.openArray(name);
    int index = 0;
    for (const auto& item : value) TROUPE_TRY(appendValue(b, std::to_string(index++), item));
    b.close();
    return {};
  }
  if (value.is_object()) {
    if (value.contains("$code")) return appendCode(b, name, value);
    if (value.contains("$dbPointer")) return appendPointer(b, name, value);
    const bool wrapped = !value.empty() && value.begin().key().starts_with('$');
    if (!wrapped) {
      b.openDocument(name);
      TROUPE_TRY(appendDocument(b, value));
      b.close();
      return {};
    }
  }
  // All that is left libbson reads well.
  TROUPE_ASSIGN(const auto leaf, bson::fromJson(Json{{"v", value}}.dump()));
  b.append(name, leaf.view().first());
  return {};
}

Status appendDocument(bson::Builder& b, const Json& object) {
  for (const auto& [name, value] : object.items()) {
    if (name.find('\0') != std::string::npos) return badJson("a field name contains a NUL");
    TROUPE_TRY(appendValue(b, name, value));
  }
  return {};
}

}  // namespace

StatusWith<bson::Document> parseExtendedJson(std::string_view json) {
  if (json.find("\"$code\"") == std::string_view::npos && json.find("\"$dbPointer\"") == std::string_view::npos)
    return bson::fromJson(json);
  Json parsed;
  try {
    parsed = Json::parse(json);
  } catch (const Json::exception& e) {
    return badJson(e.what());
  }
  if (!parsed.is_object()) return badJson("a document is expected");
  bson::Builder b;
  TROUPE_TRY(appendDocument(b, parsed));
  return b.finish();
}

}  // namespace troupe::supervisors
