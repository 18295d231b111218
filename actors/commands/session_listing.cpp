#include "actors/commands/session_listing.hpp"

#include <chrono>

#include "actors/kernel/node.hpp"
#include "actors/server/session_cache.hpp"

namespace troupe::commands {

namespace {

/// Whether the list names the client's only user and no other one.
bool areOwn(const bson::Element& users, const SessionViewer& viewer) {
  for (const bson::Element& user : users.asArray()) {
    const bson::View named = user.asDocument();
    if (!viewer.user || named["user"].toStringOr() != viewer.user->name ||
        named["db"].toStringOr() != viewer.user->database)
      return false;
  }
  return true;
}

}  // namespace

SessionViewer SessionViewer::of(const Request& request) {
  const std::string& owner = request.client().sessionOwner;
  const auto users = request.client().ownUsers();
  return {owner.empty() ? SessionKey::nobody() : owner, users.size() == 1 ? std::optional(users.front()) : std::nullopt,
          request.authorize(auth::Action::kListSessions, auth::Resource::cluster()).isOK()};
}

StatusWith<ListedSessions> ListedSessions::of(std::string_view stage, bson::View options, const SessionViewer& viewer,
                                              const UserStore& store, const std::function<Status()>& step) {
  ListedSessions listed;
  listed.all_ = options["allUsers"].truthy();
  const bson::Element users = options["users"];
  const bool own = !listed.all_ && (!users.ok() || areOwn(users, viewer));
  if (!own && !viewer.mayListAny)
    return Status(ErrorCode::kUnauthorized, "not authorized to see the sessions of others with " + std::string(stage) +
                                                ": leave its options out");
  if (own && !(users.ok() && users.asArray().empty())) listed.owners_.insert(viewer.owner);
  if (own || listed.all_) return listed;
  for (const bson::Element& user : users.asArray()) {
    TROUPE_TRY(step());
    const bson::View named = user.asDocument();
    TROUPE_ASSIGN(const UserKey key, store.keyOf(named["user"].toStringOr(), named["db"].toStringOr()));
    listed.owners_.insert(SessionKey::ownerOf(key));
  }
  return listed;
}

bson::Document ListedSessions::filter() const {
  if (all_) return {};
  bson::Builder filter;
  filter.openDocument("_id.uid").openArray("$in");
  for (const std::string& owner : owners_) filter.push(bson::Binary{bson::kBinaryGeneric, owner});
  return filter.close().close().finish();
}

Status addLocalSessions(ServerContext& server, const ListedSessions& wanted, const std::function<Status()>& step,
                        ListedRows& rows) {
  constexpr size_t kAtOnce = 1000;
  const TimePoint now = server.node.environment().now();
  const int64_t wall = wallMillis(server);
  for (SessionCache::Place place; !place.atEnd;) {
    TROUPE_TRY(step());
    for (const SessionCache::Row& session : server.sessions.look(place, kAtOnce, SessionCache::Which::kLive)) {
      if (!wanted.contains(session.key.owner())) continue;
      const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(now - session.lastUse).count();
      bson::Builder row;
      row.append("_id", session.key.toDocument()).append("lastUse", bson::Date{wall - idle});
      if (!session.user.empty()) row.append("user", session.user);
      TROUPE_TRY(rows.add(row.finish()));
    }
  }
  return Status::OK();
}

}  // namespace troupe::commands
