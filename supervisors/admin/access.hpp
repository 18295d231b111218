#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "actors/environment/environment.hpp"
#include "actors/kernel/task.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/auth/roles.hpp"
#include "supervisors/admin/http_message.hpp"

namespace troupe::supervisors {

/// The authenticated user of a request, if any.
struct Identity {
  /// kUnreadable: users cannot be read now, so that nothing is known of the client, neither good nor bad.
  /// kFailed: they cannot be read until an operator has mended them.
  enum class Outcome { kKnown, kUnknown, kOverloaded, kUnreadable, kFailed } outcome = Outcome::kUnknown;
  std::string user;  ///< "name@database"; empty when nobody has to log in
  auth::PrivilegeSet privileges;
  LogIn logIn;               ///< by which `again` knows the user
  Status failure;            ///< of kFailed
  std::string sessionToken;  ///< set when a session began: goes to the client as a cookie

  /// On the cluster.
  bool may(auth::Action action) const { return privileges.allows(action, auth::Resource::cluster()); }
};

/// Authenticates HTTP requests. Thread-safe.
class Access {
 public:
  virtual ~Access() = default;
  virtual Task<Identity> identify(HttpRequest request) = 0;
  /// Who that is now; unknown once the log-in is over, for its time, its password or its user.
  virtual Identity again(const LogIn& logIn) = 0;
  /// Grows when users or their rights change.
  virtual int64_t version() const { return 0; }
};

/// Everybody may do everything: a node without authorization.
class OpenAccess final : public Access {
 public:
  Task<Identity> identify(HttpRequest request) override;
  Identity again(const LogIn& logIn) override;
};

/// HTTP Basic over the node's own users. The name is "user" (of the database admin) or "user@database". A password is
/// checked by a blocking worker, since that takes milliseconds by design; success begins a session, known by its cookie
/// or by the same Authorization header. At each request the user is read again: a changed password, a revoked role or a
/// dropped user counts at once. While users cannot be read for a lock (a rollback, the end of the node) nobody is
/// logged in or out.
class UserAccess final : public Access {
 public:
  using FindUser =
      std::function<StatusWith<std::optional<bson::Document>>(std::string_view user, std::string_view database)>;
  /// What the roles of a user's document allow.
  using PrivilegesOf = std::function<StatusWith<auth::PrivilegeSet>(bson::View user)>;
  struct Options {
    FindUser find;
    PrivilegesOf privilegesOf;
    std::function<int64_t()> version;  ///< of the users, as UserStore::version
    /// Hears why users could not be read, unless that passes by itself. Any thread; may be null.
    std::function<void(const Status& why)> onFailure;
    server::BlockingWork* blocking = nullptr;  ///< outlives this
    Environment* environment = nullptr;        ///< outlives this
    auth::RandomSource random;
    std::string secret;  ///< makes decoy credentials
    Duration sessionTime = std::chrono::hours(1);
    size_t maxSessions = 256;
    int maxChecks = 8;  ///< passwords being checked at once; further ones are refused
  };
  explicit UserAccess(Options options) : options_(std::move(options)) {}
  Task<Identity> identify(HttpRequest request) override;
  Identity again(const LogIn& logIn) override;
  int64_t version() const override { return options_.version ? options_.version() : 0; }

 private:
  struct Session {
    std::string key;
    LogIn logIn;
  };
  using Sessions = std::list<Session>;
  std::optional<Session> sessionOf(const std::string& key);
  void remember(Session session);
  void forget(const std::string& key);
  /// Of one to whom users and roles could not be read.
  Identity unread(const Status& why) const;
  std::string keyOfHeader(std::string_view authorization);
  Task<Identity> logIn(std::string key, std::string authorization);

  const Options options_;
  std::mutex mutex_;
  Sessions sessions_;  ///< newest first
  std::unordered_map<std::string, Sessions::iterator> byKey_;
  std::atomic<int> checks_{0};
  std::string headerSecret_;
};

inline constexpr std::string_view kSessionCookie = "troupe-admin";

/// Name and password of an "Authorization: Basic ..." header; nothing if it is not one.
struct BasicCredentials {
  std::string user, database, password;
};
std::optional<BasicCredentials> parseBasic(std::string_view authorization);

/// Against pages of other sites: on loopback, the Host must name this machine (a foreign name bound to 127.0.0.1 is
/// refused).
bool isLoopbackHost(std::string_view host);
/// A request that changes something must carry the X-Troupe-Action header, which other sites cannot add, and an Origin,
/// if there is one, must be this host.
bool isForged(const HttpRequest& request);

}  // namespace troupe::supervisors
