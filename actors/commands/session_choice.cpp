#include "actors/commands/session_choice.hpp"

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "actors/commands/session_arguments.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/session_catalog.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {

namespace {

/// Clients, and cursors of one session, that are looked at in one piece.
constexpr size_t kAtOnce = 256;

/// Of an entry of a set, about, with what it points to.
constexpr size_t kEntryBytes = 128;

/// Kills the operation of a client if its session is one of the chosen.
void killOperation(Client& client, const std::function<bool(const SessionKey&)>& isChosen) {
  client.withSession([&](storage::OperationContext& operation, const SessionKey& key) {
    if (isChosen(key)) operation.kill(ErrorCode::kInterrupted);
  });
}

Task<Status> killOperations(Request& request, const SessionChoice* choice) {
  const std::function<bool(const SessionKey&)> isChosen = [choice](const SessionKey& key) {
    return choice->contains(key);
  };
  for (int64_t after = ClientRegistry::kBeforeAll;;) {
    const auto clients = request.server().clients.next(after, kAtOnce);
    if (clients.empty()) co_return Status::OK();
    for (const auto& client : clients)
      if (client.get() != &request.client()) killOperation(*client, isChosen);
    TROUPE_CO_TRY(co_await request.yield());
  }
}

/// Sessions of that id of which this node knows anything.
std::vector<SessionKey> knownOfId(const ServerContext& server, std::string_view id) {
  std::unordered_set<SessionKey> found;
  for (const SessionKey& key : server.sessions.keysOf(id)) found.insert(key);
  for (const SessionKey& key : server.cursors.sessionsOf(id)) found.insert(key);
  if (server.sessionCatalog)
    for (const SessionKey& key : server.sessionCatalog->keysOf(id)) found.insert(key);
  return {found.begin(), found.end()};
}

bool killFamily(const ServerContext& server, const SessionKey& key) {
  return server.sessionCatalog && server.sessionCatalog->kill(key);
}

/// The work of killChosen, behind the operations: what it has come to stands in one place.
class Killing {
 public:
  Killing(Request& request, const SessionChoice& choice)
      : request_(request), server_(request.server()), choice_(choice) {}

  /// Sessions that are named end here whether this node knows of them or not: the collection may.
  Task<Status> killNamed() {
    for (const SessionKey& key : choice_.keys()) TROUPE_CO_TRY(co_await killOne(key));
    for (const std::string& id : choice_.ids()) {
      const auto known = knownOfId(server_, id);
      for (const SessionKey& key : known) TROUPE_CO_TRY(co_await killOne(key));
      if (steps_.areMany()) TROUPE_CO_TRY(co_await request_.yield());
    }
    co_return Status::OK();
  }
  /// The others are looked for in all that knows of sessions, each once: one that gave its place in the cache to
  /// another may have cursors still, and a history.
  Task<Status> killOthers() {
    for (SessionCache::Place place; !place.atEnd;) {
      const auto rows = server_.sessions.look(place, kSessionsAtOnce, SessionCache::Which::kLive);
      for (const auto& row : rows)
        if (choice_.contains(row.key)) TROUPE_CO_TRY(co_await end(row.key));
      TROUPE_CO_TRY(co_await request_.yield());
    }
    for (TablePlace place; !place.atEnd;) {
      const auto keys = server_.cursors.sessions(place, kSessionsAtOnce);
      for (const SessionKey& key : keys)
        if (choice_.contains(key)) TROUPE_CO_TRY(co_await end(key));
      TROUPE_CO_TRY(co_await request_.yield());
    }
    for (TablePlace place; server_.sessionCatalog && !place.atEnd;) {
      const auto keys = server_.sessionCatalog->look(place, kSessionsAtOnce);
      for (const SessionKey& key : keys) {
        if (!choice_.contains(key)) continue;
        killFamily(server_, key);
        TROUPE_CO_TRY(co_await end(key));
      }
      TROUPE_CO_TRY(co_await request_.yield());
    }
    co_return Status::OK();
  }
  int64_t known() const { return known_; }

 private:
  Task<Status> end(SessionKey key) {
    TROUPE_CO_ASSIGN(const bool isKnown, co_await endSession(request_, key));
    known_ += isKnown;
    co_return Status::OK();
  }
  Task<Status> killOne(SessionKey key) {
    const bool isFamily = killFamily(server_, key);
    TROUPE_CO_ASSIGN(const bool isKnown, co_await endSession(request_, key));
    known_ += isKnown || isFamily;
    if (steps_.areMany()) TROUPE_CO_TRY(co_await request_.yield());
    co_return Status::OK();
  }

  Request& request_;
  ServerContext& server_;
  const SessionChoice& choice_;
  Steps steps_;
  int64_t known_ = 0;
};

}  // namespace

Status SessionChoice::charge(size_t bytes) {
  constexpr size_t kPiece = 64 * 1024;
  bytes_ += bytes;
  if (bytes_ / kPiece == (bytes_ - bytes) / kPiece) return Status::OK();
  return charge_.resize(budget_, static_cast<int64_t>(bytes_));
}

Status SessionChoice::add(const SessionKey& key) {
  if (keys_.insert(key).second) return charge(kEntryBytes);
  return Status::OK();
}

Status SessionChoice::addId(std::string_view id) {
  if (ids_.insert(std::string(id)).second) return charge(kEntryBytes);
  return Status::OK();
}

Status SessionChoice::addOwner(std::string_view digest) {
  if (owners_.insert(std::string(digest)).second) return charge(kEntryBytes);
  return Status::OK();
}

bool SessionChoice::contains(const SessionKey& key) const {
  return all_ || keys_.contains(key) || (!ids_.empty() && ids_.contains(std::string(key.id()))) ||
         (!owners_.empty() && owners_.contains(std::string(key.owner())));
}

Task<StatusWith<bool>> endSession(Request& request, SessionKey key) {
  ServerContext& server = request.server();
  bool isKnown = server.sessions.end(key, server.node.environment().now());
  for (;;) {
    const int64_t killed = server.cursors.killOf(std::span(&key, 1), kAtOnce);
    isKnown |= killed > 0;
    if (killed < static_cast<int64_t>(kAtOnce)) co_return isKnown;
    TROUPE_CO_TRY(co_await request.yield());
  }
}

Task<StatusWith<int64_t>> killChosen(Request& request, const SessionChoice* choice) {
  TROUPE_CO_TRY(co_await killOperations(request, choice));
  Killing killing(request, *choice);
  TROUPE_CO_TRY(co_await killing.killNamed());
  if (!choice->isNamed()) TROUPE_CO_TRY(co_await killing.killOthers());
  co_return killing.known();
}

void killSessionsOfId(ServerContext& server, std::string_view id) {
  server.clients.each(
      [&](Client& client) { killOperation(client, [id](const SessionKey& key) { return key.id() == id; }); });
  const TimePoint now = server.node.environment().now();
  for (const SessionKey& key : knownOfId(server, id)) {
    killFamily(server, key);
    server.sessions.end(key, now);
    server.cursors.killOf(std::span(&key, 1));
  }
}

}  // namespace troupe::commands
