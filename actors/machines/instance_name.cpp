#include "actors/machines/instance_name.hpp"

#include <algorithm>

#include "messaging/bson/json.hpp"

namespace troupe::machines {

bson::Document keyOfDocument(bson::View document, std::string_view otherwise) {
  bson::Builder key;
  if (const bson::Element id = document["_id"]; id.ok()) key.append(id);
  else key.append("_id", otherwise);
  return key.finish();
}

namespace {
bson::Uuid uuidOf(const bson::Element& id) {
  bson::Uuid uuid;
  std::copy_n(id.asBinary().bytes.begin(), uuid.bytes.size(), uuid.bytes.begin());
  return uuid;
}

std::string plainText(const bson::Element& id) {
  if (id.is(bson::Type::kString)) return std::string(id.toStringOr());
  if (id.is(bson::Type::kObjectId)) return id.asObjectId().toString();
  if (id.is(bson::Type::kBinary) && id.asBinary().subtype == bson::kBinaryUuid && id.asBinary().bytes.size() == 16)
    return uuidOf(id).toString();
  return bson::toRelaxedJson(id);
}
}  // namespace

std::string instanceNameOf(bson::View key) {
  std::string name;
  for (const char c : plainText(key["_id"])) {
    if (c == '/') name += "%2F";
    else if (c == '%') name += "%25";
    else name += c;
  }
  return name.empty() ? "%00" : name;
}

}  // namespace troupe::machines
