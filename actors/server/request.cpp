#include "actors/server/request.hpp"

#include <algorithm>

#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

bson::Element Request::given(std::string_view name) const {
  const auto e = fields_[name];
  return e.isNullish() ? bson::Element() : e;
}

StatusWith<std::vector<bson::View>> Request::documents(std::string_view name) const {
  std::vector<bson::View> all;
  if (const auto* sequence = wire_.sequence(name)) {
    all.reserve(sequence->documents.size());
    for (const bson::View document : sequence->documents) all.push_back(document);
    return all;
  }
  const auto e = arg(name);
  if (!e.is(bson::Type::kArray)) {
    return Status(ErrorCode::kMissingRequiredField, "BSON field '" + std::string(commandName()) + "." +
                                                        std::string(name) + "' is missing but a required field");
  }
  for (const bson::Element& item : e.asArray()) {
    if (!item.is(bson::Type::kDocument)) {
      return Status(ErrorCode::kTypeMismatch, "BSON field '" + std::string(commandName()) + "." + std::string(name) +
                                                  "." + std::string(item.name()) + "' is the wrong type '" +
                                                  std::string(bson::typeName(item.type())) +
                                                  "', expected type 'object'");
    }
    all.push_back(item.asDocument());
  }
  return all;
}

namespace {

std::optional<bson::Uuid> uuidOf(const bson::Element& e) {
  if (!e.is(bson::Type::kBinary)) return std::nullopt;
  const bson::Binary binary = e.asBinary();
  bson::Uuid uuid;
  if (binary.subtype != bson::kBinaryUuid || binary.bytes.size() != uuid.bytes.size()) return std::nullopt;
  std::copy(binary.bytes.begin(), binary.bytes.end(), uuid.bytes.begin());
  return uuid;
}

}  // namespace

bool Request::namesCollectionByUuid() const {
  return command && command->takesUuid && body().first().is(bson::Type::kBinary);
}

StatusWith<storage::Namespace> Request::collection() const {
  const bson::Element name = body().first();
  if (const auto uuid = uuidOf(name); uuid && command && command->takesUuid) {
    auto name = server_.catalog.snapshot()->nameOf(*uuid);
    if (name && name->db() == db()) return std::move(*name);
    return Status(ErrorCode::kNamespaceNotFound,
                  "no collection of the database '" + std::string(db()) + "' has the UUID " + uuid->toString());
  }
  if (!name.is(bson::Type::kString)) {
    return Status(ErrorCode::kInvalidNamespace,
                  "collection name has invalid type " + std::string(bson::typeName(name.type())));
  }
  storage::Namespace ns(db(), name.asString());
  TROUPE_TRY(storage::validateNamespace(ns));
  return ns;
}

StatusWith<storage::Namespace> Request::target() {
  TROUPE_ASSIGN(auto ns, collection());
  operation_.ns = ns.toString();
  return ns;
}

Status Request::authorize(auth::Action action, const auth::Resource& resource) const {
  if (!server_.identity.authentication || client_.localhostException) return Status::OK();
  if (client_.allows(action, resource)) return Status::OK();
  return auth::unauthorized(db(), body());
}

std::vector<std::string> Request::userNames() const {
  std::vector<std::string> names;
  for (const auto& user : client_.users) names.push_back(user.name + "@" + user.database);
  return names;
}

void Request::replyWithBatch(std::string_view ns, const std::vector<bson::Document>& documents) {
  reply().openDocument("cursor").openArray("firstBatch");
  for (const auto& document : documents) reply().push(document);
  reply().close().append("id", int64_t{0}).append("ns", ns).close();
}

Status Request::checkForInterrupt() const {
  return operation_.checkForInterrupt(server_.node.environment().coarseNow());
}

Task<Status> Request::yield() {
  operation_.metrics.yields.fetch_add(1, std::memory_order_relaxed);
  co_await server_.node.nextTurn();
  co_return checkForInterrupt();
}

}  // namespace troupe::server
