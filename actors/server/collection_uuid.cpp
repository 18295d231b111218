#include "actors/server/collection_uuid.hpp"

#include <algorithm>

#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

namespace {

bson::Uuid uuidOf(const bson::Element& e) {
  bson::Uuid uuid;
  const auto bytes = e.asBinary().bytes;
  std::copy_n(bytes.begin(), std::min(bytes.size(), uuid.bytes.size()), uuid.bytes.begin());
  return uuid;
}

/// The name that the collection has now. It must be of the same database, and one that the client may use.
std::optional<storage::Namespace> presentName(const Request& request, const storage::Namespace& ns,
                                              const bson::Uuid& uuid) {
  auto name = request.server().catalog.nameOf(uuid);
  if (!name || name->db() != ns.db()) return std::nullopt;
  const auto resource = auth::Resource::coll(name->db(), name->collection());
  const auto action = request.command->requirement.target == Requirement::Target::kCollection
                          ? request.command->requirement.action
                          : auth::Action::kFind;
  return request.authorize(action, resource).isOK() ? std::move(name) : std::nullopt;
}

}  // namespace

Status checkCollectionUuid(const Request& request, const storage::Namespace& ns, std::string_view field) {
  return checkCollectionUuid(request, ns, request.arg(field));
}

Status checkCollectionUuid(const Request& request, const storage::Namespace& ns, const bson::Element& given) {
  if (!given.is(bson::Type::kBinary)) return Status::OK();
  const bson::Uuid wanted = uuidOf(given);
  if (request.server().catalog.uuidOf(ns) == wanted) return Status::OK();
  bson::Builder details;
  details.append("db", ns.db()).append("collectionUUID", wanted);
  const auto expected = presentName(request, ns, wanted);
  if (expected) details.append("expectedCollection", expected->collection());
  else details.append("expectedCollection", nullptr);
  details.append("actualCollection", ns.collection());
  return {ErrorCode::kCollectionUUIDMismatch, "Collection UUID does not match that specified", details.finish()};
}

Status checkCollectionUuid(const Request& request) {
  const bson::Element name = request.body().first();
  if (!request.arg("collectionUUID") || !name.is(bson::Type::kString)) return Status::OK();
  return checkCollectionUuid(request, storage::Namespace(request.db(), name.asString()));
}

}  // namespace troupe::server
