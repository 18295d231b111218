#include "actors/server/namespace_resolution.hpp"

#include <algorithm>

#include "actors/server/command.hpp"
#include "actors/server/observed_documents.hpp"
#include "actors/server/rights_collection.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_access.hpp"

namespace troupe::server {

using auth::Action;
using auth::ActionSet;
using auth::Resource;
using query::NamedCollection;
using query::NamespaceUse;
using storage::Namespace;

namespace {

std::optional<bson::Uuid> uuidOf(const bson::Element& e) {
  if (!e.is(bson::Type::kBinary)) return std::nullopt;
  const bson::Binary binary = e.asBinary();
  bson::Uuid uuid;
  if (binary.subtype != bson::kBinaryUuid || binary.bytes.size() != uuid.bytes.size()) return std::nullopt;
  std::copy(binary.bytes.begin(), binary.bytes.end(), uuid.bytes.begin());
  return uuid;
}

Resource resourceOf(const Namespace& ns) { return Resource::coll(ns.db(), ns.collection()); }

Status check(Request& request, const Namespace& ns, const ActionSet& needed) {
  if (needed.none() || !request.checksPrivileges()) return Status::OK();
  for (size_t i = 0; i < auth::kActionCount; ++i)
    if (needed.test(i)) TROUPE_TRY(request.authorizeResults(static_cast<Action>(i), resourceOf(ns)));
  return Status::OK();
}

/// The actions on the namespace that a stage needs; nothing for uses of the server's inside.
ActionSet actionsFor(NamespaceUse use) {
  switch (use) {
    case NamespaceUse::kRead: return auth::actions({Action::kFind});
    case NamespaceUse::kCollectionStatistics: return auth::actions({Action::kCollStats});
    case NamespaceUse::kIndexStatistics: return auth::actions({Action::kIndexStats});
    case NamespaceUse::kPlanCache: return auth::actions({Action::kPlanCacheRead});
    case NamespaceUse::kReplace: return auth::actions({Action::kInsert, Action::kRemove});
    case NamespaceUse::kInsert: return auth::actions({Action::kInsert});
    case NamespaceUse::kUpdate: return auth::actions({Action::kUpdate});
    default: return {};
  }
}

/// The action on the cluster that a stage needs which shows the server's inside, or is for servers.
std::optional<Action> clusterActionFor(NamespaceUse use) {
  switch (use) {
    case NamespaceUse::kOperations:
    case NamespaceUse::kActors:
    case NamespaceUse::kCatalog: return Action::kInprog;
    case NamespaceUse::kInternal: return Action::kInternal;
    default: return std::nullopt;
  }
}

/// Whose sessions a stage lists is known when it is opened. A client that names them, and may list everybody's,
/// is asked for that right again before each further batch; for its own ones it needs none.
void noteSessions(Request& request, NamespaceUse use) {
  if (use == NamespaceUse::kNamedSessions) (void)request.authorizeResults(Action::kListSessions, Resource::cluster());
}

bool isWrite(NamespaceUse use) {
  return use == NamespaceUse::kReplace || use == NamespaceUse::kInsert || use == NamespaceUse::kUpdate;
}

/// The name that a collection has; in a read of an earlier time the one that it had then (CAT-022).
StatusWith<std::optional<Namespace>> nameOf(const Request& request, const bson::Uuid& uuid) {
  storage::Catalog& catalog = request.server().catalog.unguarded();
  storage::RecoveryUnit& unit = request.operation().recoveryUnit();
  if (unit.readSource() != storage::ReadSource::kProvided) return catalog.snapshot()->nameOf(uuid);
  TROUPE_ASSIGN(storage::CatalogView* const view, storage::CatalogView::open(catalog, unit));
  TROUPE_ASSIGN(const storage::CollectionPtr collection, view->find(uuid));
  return collection ? std::optional(collection->ns()) : std::nullopt;
}

StatusWith<Namespace> commandNamespace(const Request& request) {
  const bson::Element name = request.body().first();
  if (const auto uuid = uuidOf(name); uuid && request.command && request.command->takesUuid) {
    TROUPE_ASSIGN(auto found, nameOf(request, *uuid));
    if (found && found->db() == request.db()) return std::move(*found);
    return Status(ErrorCode::kNamespaceNotFound,
                  "no collection of the database '" + std::string(request.db()) + "' has the UUID " + uuid->toString());
  }
  if (!name.is(bson::Type::kString)) {
    return Status(ErrorCode::kInvalidNamespace,
                  "collection name has invalid type " + std::string(bson::typeName(name.type())));
  }
  Namespace ns(request.db(), name.asString());
  TROUPE_TRY(storage::validateNamespace(ns));
  return ns;
}

}  // namespace

StatusWith<AuthorizedNamespace> NamespaceResolution::resolve(Request& request, Namespace ns, const ActionSet& needed) {
  if (request.command && request.command->access == Access::kRead) TROUPE_TRY(checkRoleForReading(request, ns));
  return authorized(request, std::move(ns), needed);
}

StatusWith<AuthorizedNamespace> NamespaceResolution::authorized(Request& request, Namespace ns,
                                                                const ActionSet& needed) {
  TROUPE_TRY(check(request, ns, needed));
  return AuthorizedNamespace(std::move(ns));
}

StatusWith<AuthorizedNamespace> NamespaceResolution::resolve(Request& request, const NamedCollection& named,
                                                             bool bypass) {
  if (const auto action = clusterActionFor(named.use))
    TROUPE_TRY(request.authorizeResults(*action, Resource::cluster()));
  noteSessions(request, named.use);
  ActionSet needed = actionsFor(named.use);
  if (bypass && isWrite(named.use)) needed |= auth::actions({Action::kBypassDocumentValidation});
  Namespace ns(named.name.db, named.name.collection);
  if (!isWrite(named.use)) TROUPE_TRY(checkRoleForReading(request, ns));
  return authorized(request, std::move(ns), needed);
}

Status NamespaceResolution::checkTarget(Request& request) {
  const Action needed = request.command->requirement.action;
  if (request.namesCollectionByUuid()) {
    TROUPE_TRY(request.authorize(Action::kUseUuid, Resource::db(request.db())));
    const auto named = commandNamespace(request);
    // One that only an earlier time has is found, and checked, by `target`.
    if (named.status() == ErrorCode::kNamespaceNotFound && request.arg("readConcern")) return Status::OK();
    TROUPE_TRY(named.status());
    return request.authorize(needed, resourceOf(*named));
  }
  return request.authorize(needed, Resource::coll(request.db(), request.body().first().toStringOr()));
}

StatusWith<AuthorizedNamespace> NamespaceResolution::target(const Request& request) {
  invariant(request.command->requirement.target == Requirement::Target::kCollection,
            "a command's target is authorised by its requirement");
  TROUPE_ASSIGN(auto ns, commandNamespace(request));
  if (request.command->access == Access::kRead) TROUPE_TRY(checkRoleForReading(request, ns));
  // A UUID is looked up again: since the dispatcher's check its collection may have got another name.
  if (request.namesCollectionByUuid())
    TROUPE_TRY(request.authorize(request.command->requirement.action, resourceOf(ns)));
  return AuthorizedNamespace(std::move(ns));
}

AuthorizedNamespace NamespaceResolution::below(const storage::Collection& view) {
  return AuthorizedNamespace(Namespace(view.ns().db(), view.options().viewOn));
}

AuthorizedNamespace NamespaceResolution::temporaryOf(const AuthorizedNamespace& target, std::string_view collection) {
  return AuthorizedNamespace(Namespace(target.db(), collection));
}

AuthorizedNamespace NamespaceResolution::users() { return AuthorizedNamespace(kUsers); }
AuthorizedNamespace NamespaceResolution::roles() { return AuthorizedNamespace(kRoles); }
AuthorizedNamespace NamespaceResolution::settings() { return AuthorizedNamespace(kSettings); }
AuthorizedNamespace NamespaceResolution::sessions() { return AuthorizedNamespace(kSessions); }

AuthorizedDatabase NamespaceResolution::targetDatabase(const Request& request) {
  invariant(request.command->requirement.target == Requirement::Target::kDatabase,
            "a command's database is authorised by its requirement");
  return AuthorizedDatabase(request.db());
}

std::optional<AuthorizedDatabase> NamespaceResolution::visibleDatabase(const Request& request, std::string_view name) {
  const auto& users = request.client().users;
  const bool visible = !request.checksPrivileges() || std::ranges::any_of(users, [&](const auto& user) {
    return user.privileges.allowsAnythingIn(name);
  }) || request.authorize(Action::kListDatabases, Resource::cluster()).isOK();
  return visible ? std::optional(AuthorizedDatabase(name)) : std::nullopt;
}

bool NamespaceResolution::coversCollection(const Request& request, Action action, const storage::Namespace& ns) {
  return !ns.isSystem() || request.authorize(action, Resource::coll(ns.db(), ns.collection())).isOK();
}

std::optional<CatalogInspection> NamespaceResolution::inspection(const Request& request) {
  if (!request.authorize(Action::kInprog, Resource::cluster()).isOK()) return std::nullopt;
  return CatalogInspection();
}

Status NamespaceResolution::checkAgain(const Request& request, std::span<const Grant> grants) {
  for (const Grant& grant : grants) TROUPE_TRY(request.authorize(grant.action, grant.resource()));
  return Status::OK();
}

Status PipelineNamespaces::admit(Request& request, std::span<const NamedCollection> named, bool bypass) {
  for (const NamedCollection& one : named) {
    TROUPE_ASSIGN(auto resolved, NamespaceResolution::resolve(request, one, bypass));
    admitted_.insert_or_assign(Key(one.name.full(), one.use), std::move(resolved));
    note(one);
  }
  return Status::OK();
}

void PipelineNamespaces::note(const NamedCollection& named) {
  readsReplicated_ |= !isWrite(named.use) && Namespace(named.name.db, named.name.collection).isReplicated();
}

void PipelineNamespaces::admitFromView(std::span<const NamedCollection> named) {
  for (const NamedCollection& one : named) {
    if (clusterActionFor(one.use) || isWrite(one.use)) continue;
    admitted_.try_emplace(Key(one.name.full(), one.use), NamespaceResolution::fromView(one.name));
    note(one);
  }
}

StatusWith<AuthorizedNamespace> PipelineNamespaces::find(const query::CollectionName& name, NamespaceUse use) const {
  const auto found = admitted_.find(Key(name.full(), use));
  if (found != admitted_.end()) return found->second;
  return Status(ErrorCode::kUnauthorized, "not authorized on " + name.db + " to use " + name.full() + " in a pipeline");
}

namespace {

/// Failures that tell of the request or of the node, and never of a document.
bool tellsOfNoDocument(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnauthorized:
    case ErrorCode::kInterrupted:
    case ErrorCode::kInterruptedAtShutdown:
    case ErrorCode::kInterruptedDueToReplStateChange:
    case ErrorCode::kMaxTimeMSExpired:
    case ErrorCode::kShutdownInProgress:
    case ErrorCode::kNotWritablePrimary:
    case ErrorCode::kPrimarySteppedDown:
    case ErrorCode::kWriteConflict:
    case ErrorCode::kLockTimeout:
    case ErrorCode::kOutOfDiskSpace:
    case ErrorCode::kNamespaceNotFound:
    case ErrorCode::kInvalidNamespace:
    case ErrorCode::kCommandNotSupportedOnView:
    case ErrorCode::kCursorNotFound:
    case ErrorCode::kQueryPlanKilled: return true;
    default: return false;
  }
}

bool mayFind(const Request& request, const Namespace& ns) {
  return request.authorize(Action::kFind, resourceOf(ns)).isOK();
}

/// Whether the operation has read, or compared with, documents that the client may not find.
bool readsHiddenDocuments(const Request& request) {
  if (request.furtherNamespaces &&
      !std::ranges::all_of(*request.furtherNamespaces, [&](const Namespace& ns) { return mayFind(request, ns); }))
    return true;
  if (request.command->requirement.target != Requirement::Target::kCollection) return false;
  // The statements of a write are parsed before its operation reads: until then a failure tells of the arguments. Other
  // commands have documents read for them by operations of their own (index builds, checks).
  if (request.command->allowedInTransaction && !request.operation().hasRecoveryUnit()) return false;
  const auto ns = commandNamespace(request);
  return ns.isOK() && !mayFind(request, *ns);
}

}  // namespace

Status withoutHiddenValues(const Request& request, const Status& failure) {
  if (!request.command || !request.checksPrivileges() || tellsOfNoDocument(failure.code())) return failure;
  if (!readsHiddenDocuments(request)) return failure;
  bson::Builder kept;
  if (const bson::Document* extra = failure.extra()) kept.append("errorLabels", (*extra)["errorLabels"]);
  return {failure.code(),
          errorName(failure.code()) +
              ": details are not shown, for they may hold values of documents that need the "
              "privilege to find them",
          kept.finish()};
}

}  // namespace troupe::server
