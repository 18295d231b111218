#pragma once
#include <map>
#include <span>
#include <utility>

#include "actors/server/authorized_namespace.hpp"
#include "actors/server/guarded_catalog.hpp"
#include "actors/server/request.hpp"
#include "storage/query/pipeline/environment.hpp"

namespace troupe::server {

/// Where names become namespaces that may be opened. Every namespace an operation touches comes through `resolve`,
/// which checks the privileges of the client's users; two more ways lead from a namespace that was resolved to what
/// belongs to it. On the request's own thread or actor.
class NamespaceResolution {
 public:
  /// The one check. `needed`: all of these actions on the collection. Also remembered for the cursor that the command
  /// may open (`Request::grants`). Errors: Unauthorized; of a command that reads, also those of checkRole.
  static StatusWith<AuthorizedNamespace> resolve(Request& request, storage::Namespace ns,
                                                 const auth::ActionSet& needed);
  /// What a stage does with a namespace it names ($lookup, $out, $collStats ...). `bypass`: without the target's
  /// validator. Errors: Unauthorized; for what is read, also those of checkRole.
  static StatusWith<AuthorizedNamespace> resolve(Request& request, const query::NamedCollection& named,
                                                 bool bypass = false);

  /// The command's own namespace; its first field is the collection's name, or UUID where the command takes one.
  /// `checkTarget` is the dispatcher's check of the command's requirement, before its arguments are looked at.
  /// Errors: Unauthorized, NamespaceNotFound (a UUID that the database does not have).
  static Status checkTarget(Request& request);
  /// Errors: InvalidNamespace, TypeMismatch, NamespaceNotFound.
  static StatusWith<AuthorizedNamespace> target(const Request& request);

  /// The collection or view that a view stands on. Its creator had to be allowed to read it; readers of the view need
  /// not be.
  static AuthorizedNamespace below(const storage::Collection& view);
  /// The temporary collection whose documents will replace those of `target`.
  static AuthorizedNamespace temporaryOf(const AuthorizedNamespace& target, std::string_view collection);
  /// `admin.system.users` and `admin.system.roles`, for the commands of users and roles, whose privileges are those on
  /// users and roles.
  static AuthorizedNamespace users();
  static AuthorizedNamespace roles();
  /// `config.settings`, for the command of the default concerns, whose privilege is on the cluster.
  static AuthorizedNamespace settings();
  /// `config.system.sessions`, for the stage that shows users their own sessions.
  static AuthorizedNamespace sessions();

  /// The database of the command, whose requirement is an action on it.
  static AuthorizedDatabase targetDatabase(const Request& request);
  /// A database for a list of what there is; nothing when the client may see none of it.
  static std::optional<AuthorizedDatabase> visibleDatabase(const Request& request, std::string_view name);
  /// Whether a right to `action` on a whole database reaches a collection of it. System collections need a right of
  /// their own, so that a command on a database leaves out those of them that its user may not name.
  static bool coversCollection(const Request& request, auth::Action action, const storage::Namespace& ns);
  /// The right of operators to see every row of the catalog (the action `inprog`); nothing for other clients.
  static std::optional<CatalogInspection> inspection(const Request& request);

  /// Before each further batch of a cursor: the users of the client may have lost privileges since it was opened.
  static Status checkAgain(const Request& request, std::span<const Grant> grants);

 private:
  friend class PipelineNamespaces;
  static StatusWith<AuthorizedNamespace> authorized(Request& request, storage::Namespace ns,
                                                    const auth::ActionSet& needed);
  static AuthorizedNamespace fromView(const query::CollectionName& name) {
    return AuthorizedNamespace({name.db, name.collection});
  }
};

/// The namespaces that the stages of one aggregation name, each with what they may do there. Stages reach collections
/// through it alone: a name that nobody admitted is refused.
class PipelineNamespaces {
 public:
  /// What the client's own stages name: its privileges are checked. Errors: Unauthorized.
  Status admit(Request& request, std::span<const query::NamedCollection> named, bool bypass = false);
  /// What the definition of a view names: its creator's privileges were checked. Sources that show the server's inside
  /// ($currentOp ...) are not admitted so.
  void admitFromView(std::span<const query::NamedCollection> named);
  /// Errors: Unauthorized for what was not admitted.
  StatusWith<AuthorizedNamespace> find(const query::CollectionName& name, query::NamespaceUse use) const;
  /// Whether something replicated was admitted for reading: the node needs a role in which it serves that.
  bool readsReplicated() const { return readsReplicated_; }

 private:
  using Key = std::pair<std::string, query::NamespaceUse>;
  void note(const query::NamedCollection& named);
  bool readsReplicated_ = false;
  std::map<Key, AuthorizedNamespace, std::less<>> admitted_;
};

/// The failure as the client may see it. What a user may not find must not show in an error message either (the key of
/// an index, a value that an expression refused): where the operation has read such documents, only code and name of
/// the failure stay.
Status withoutHiddenValues(const Request& request, const Status& failure);

}  // namespace troupe::server
