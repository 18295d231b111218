#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/server/user_key.hpp"
#include "messaging/auth/roles.hpp"
#include "messaging/auth/sasl.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/log/line_limit.hpp"
#include "messaging/wire/op_compressed.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::server {

class SessionKey;

/// A user that a connection has authenticated, with what its roles allow at that time.
struct AuthenticatedUser {
  std::string name;
  std::string database;
  std::string id;         ///< the bytes of `userId`: a user who was dropped and made again is another one
  int64_t version = 0;    ///< of the users' store when this was read
  bool internal = false;  ///< the cluster itself, which is in no store
  bson::Document roles;   ///< array elements as connectionStatus shows them
  auth::PrivilegeSet privileges;

  UserKey key() const { return {database, name, id}; }
};

/// A log-in that has begun.
struct PendingLogIn {
  auth::SaslConversation exchange;
  std::string account;  ///< the user's id and credentials as they were stored then; empty: there is no such user
};

/// State of one connection in the server. The connection's own actor changes it; other threads read only what the
/// mutex guards (the running operation and the fields under "shared").
class Client {
 public:
  Client(int64_t connectionId, std::string remote, bool fromLoopback, bool encrypted)
      : connectionId(connectionId), remote(std::move(remote)), fromLoopback(fromLoopback), encrypted(encrypted) {}

  const int64_t connectionId;
  const std::string remote;  ///< "127.0.0.1:51234"
  const bool fromLoopback;
  const bool encrypted;

  /// Of connections and the like: "conn5", or the name of what is no connection.
  std::string description() const { return connectionId > 0 ? "conn" + std::to_string(connectionId) : remote; }

  /// Has it logged in as that user?
  bool isUser(std::string_view name, std::string_view database) const {
    return std::any_of(users.begin(), users.end(),
                       [&](const AuthenticatedUser& user) { return user.name == name && user.database == database; });
  }

  // The connection's own.
  bool greeted = false;  ///< a first hello was answered; its metadata cannot change
  std::vector<wire::Compressor> compressors;
  std::vector<AuthenticatedUser> users;  ///< after a change: `usersChanged`
  std::string sessionOwner;              ///< digest of these users, see SessionKey::ownerOf; empty: none
  std::optional<PendingLogIn> logIn;
  log::LineLimit failedLogIns;       ///< lines of them
  bool localhostException = false;   ///< for the present command: a local client makes the first user
  std::atomic<bool> closing{false};  ///< close once the present answer is sent
  /// By when it has to send its first message, or (more of) the rest of one; kNotAwaited: it owes none.
  std::atomic<TimePoint> awaitedUntil{kNotAwaited};
  static constexpr TimePoint kNotAwaited = TimePoint::max();
  TimePoint acceptedAt = TimePoint::min();  ///< set by the listener
  bool mustLink = false;  ///< admitted beyond the limit of connections, as a link of another node only
  /// Ends the running operation when the peer closes, which is looked for that often; set by a connection. Null: its
  /// end is noticed without.
  std::function<void(Duration)> watchPeer = {};
  /// Whether the peer has closed; set by a connection, and asked on its own coroutine only. Null: unknown.
  std::function<bool()> isPeerGone = {};
  /// Counts an answer that grows to so many bytes as one that the peer leaves unread; set by a connection, and asked on
  /// its own coroutine only. False: its owner may leave no more, and an answer that is larger costs the connection.
  /// Null: nobody counts.
  std::function<bool(size_t)> reserveAnswer = {};

  bool authenticated() const { return !users.empty(); }
  /// Whether it acts for the cluster itself, as another node's own commands do.
  bool isInternal() const {
    return std::any_of(users.begin(), users.end(), [](const AuthenticatedUser& user) { return user.internal; });
  }
  bool allows(auth::Action action, const auth::Resource& resource) const {
    for (const auto& user : users) {
      if (user.privileges.allows(action, resource)) return true;
    }
    return false;
  }

  /// Names the running operation for currentOp and killOp; null when it has ended.
  void setOperation(storage::OperationContext* operation) {
    const std::lock_guard lock(mutex_);
    operation_ = operation;
    session_ = nullptr;
  }
  /// The session of the running operation, which outlives it; null: none.
  void setSession(const SessionKey* session) {
    const std::lock_guard lock(mutex_);
    session_ = session;
  }
  /// On the client's own thread.
  const SessionKey* session() const { return session_; }
  /// `withOperation` for one that has a session.
  bool withSession(const std::function<void(storage::OperationContext&, const SessionKey&)>& look) {
    const std::lock_guard lock(mutex_);
    if (operation_ && session_) look(*operation_, *session_);
    return operation_ && session_;
  }
  /// Calls `look` with the running operation, which cannot end meanwhile; false when there is none.
  bool withOperation(const std::function<void(storage::OperationContext&)>& look) {
    const std::lock_guard lock(mutex_);
    if (operation_) look(*operation_);
    return operation_ != nullptr;
  }
  void setMetadata(bson::Document metadata) {
    const std::lock_guard lock(mutex_);
    metadata_ = std::move(metadata);
  }
  bson::Document metadata() const {
    const std::lock_guard lock(mutex_);
    return metadata_;
  }
  /// "user@db, ..."
  std::string userNames() const {
    const std::lock_guard lock(mutex_);
    return userNames_;
  }
  /// Digest of the users as in `sessionOwner`, for other threads.
  std::string owner() const {
    const std::lock_guard lock(mutex_);
    return sessionOwner;
  }
  /// On the client's own thread: only that changes them.
  std::span<const UserKey> ownUsers() const { return userKeys_; }
  /// The oldest version of the users' store that the privileges of its users are of; that of a client none of whose
  /// users is in the store never gets older. On the client's own thread.
  int64_t rightsVersion() const {
    int64_t oldest = std::numeric_limits<int64_t>::max();
    for (const auto& user : users)
      if (!user.internal) oldest = std::min(oldest, user.version);
    return oldest;
  }
  void usersChanged();

 private:
  mutable std::mutex mutex_;
  storage::OperationContext* operation_ = nullptr;
  const SessionKey* session_ = nullptr;
  bson::Document metadata_;
  std::string userNames_;
  std::vector<UserKey> userKeys_;
};

/// Users as they are shown together: "user@db, ...".
std::string joinedNames(std::span<const UserKey> users);

/// All connections of the node. Thread-safe.
class ClientRegistry {
 public:
  std::shared_ptr<Client> add(std::string remote, bool fromLoopback, bool encrypted);
  /// One for a command of another node, or for work of this node's own, called `name`: its operation is shown and
  /// killed as clients' are. Ids of such are negative.
  std::shared_ptr<Client> addWithoutConnection(std::string name);
  void remove(int64_t connectionId);
  void each(const std::function<void(Client&)>& visit) const;
  /// The next ones, `most` at the most, in the order of their ids behind `after`, which moves on; none: the end. Begin
  /// with `kBeforeAll`.
  std::vector<std::shared_ptr<Client>> next(int64_t& after, size_t most) const;
  static constexpr int64_t kBeforeAll = std::numeric_limits<int64_t>::min();
  /// Kills the running operation of that id; false when there is none.
  bool killOperation(int64_t operationId, ErrorCode code) const;
  int64_t nextOperationId() { return nextOperation_.fetch_add(1, std::memory_order_relaxed); }
  int64_t current() const { return current_.load(std::memory_order_relaxed); }
  int64_t totalCreated() const { return created_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<Client>> clients_;
  int64_t lastWithoutConnection_ = 0;
  std::atomic<int64_t> created_{0};
  std::atomic<int64_t> current_{0};
  std::atomic<int64_t> nextOperation_{1};
};

}  // namespace troupe::server
