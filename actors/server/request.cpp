#include "actors/server/request.hpp"

#include <algorithm>

#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::server {

bson::Element Request::given(std::string_view name) const {
  const auto e = fields_[name];
  return e.isNullish() ? bson::Element() : e;
}

Status Request::accountForMessages() {
  if (rawBatch) return Status::OK();
  if (!counted_) counted_ = isTrusted(server_, client_) ? wire_.bytes() : 0;
  return held_.grow(operation_.services().memory, static_cast<int64_t>(*counted_ + reply_.body().size()));
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

bool Request::namesCollectionByUuid() const {
  return command && command->takesUuid && body().first().is(bson::Type::kBinary);
}

StatusWith<AuthorizedNamespace> Request::target() {
  TROUPE_ASSIGN(auto ns, NamespaceResolution::target(*this));
  operation_.ns = ns.toString();
  return ns;
}

StatusWith<AuthorizedNamespace> Request::target(const auth::ActionSet& further) {
  TROUPE_ASSIGN(auto ns, target());
  return NamespaceResolution::resolve(*this, std::move(ns), further);
}

bool Request::checksPrivileges() const { return server_.identity.authentication && !client_.localhostException; }

Status Request::authorize(auth::Action action, const auth::Resource& resource) const {
  if (!checksPrivileges() || client_.allows(action, resource)) return Status::OK();
  return auth::unauthorized(db(), body());
}

Status Request::authorizeResults(auth::Action action, const auth::Resource& resource) {
  if (!checksPrivileges()) return Status::OK();
  TROUPE_TRY(authorize(action, resource));
  grants.push_back(Grant::of(action, resource));
  return Status::OK();
}

std::vector<UserKey> Request::users() const {
  std::vector<UserKey> all;
  for (const auto& user : client_.users) all.push_back(user.key());
  return all;
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
