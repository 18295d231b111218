#include "actors/commands/session_listing.hpp"

#include <chrono>

#include "actors/kernel/node.hpp"
#include "actors/server/session_cache.hpp"

namespace troupe::commands {

SessionViewer SessionViewer::of(const Request& request) {
  const std::string& owner = request.client().sessionOwner;
  return {owner.empty() ? SessionKey::nobody() : owner,
          request.authorize(auth::Action::kListSessions, auth::Resource::cluster()).isOK()};
}

StatusWith<ListedSessions> ListedSessions::of(std::string_view stage, bson::View options, const SessionViewer& viewer,
                                              const UserStore& store) {
  ListedSessions listed;
  listed.all_ = options["allUsers"].truthy();
  const bson::Element users = options["users"];
  if (users.ok()) {
    for (const bson::Element& user : users.asArray()) {
      const bson::View named = user.asDocument();
      TROUPE_ASSIGN(const UserKey key, store.keyOf(named["user"].toStringOr(), named["db"].toStringOr()));
      listed.owners_.insert(SessionKey::ownerOf(key));
    }
  } else if (!listed.all_) {
    listed.owners_.insert(viewer.owner);
  }
  const bool areOwn =
      !listed.all_ && (listed.owners_.empty() || (listed.owners_.size() == 1 && listed.owners_.contains(viewer.owner)));
  if (areOwn || viewer.mayListAny) return listed;
  return Status(ErrorCode::kUnauthorized,
                "not authorized to see the sessions of others with " + std::string(stage) + ": leave its options out");
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
