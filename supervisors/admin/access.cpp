#include "supervisors/admin/access.hpp"

#include <boost/asio/ip/address.hpp>

#include "actors/kernel/future.hpp"
#include "messaging/auth/credentials.hpp"
#include "messaging/auth/crypto.hpp"

namespace troupe::supervisors {

namespace {

constexpr size_t kTokenBytes = 24;
constexpr size_t kLongestHeader = 4096;

/// Whether the password gives the stored credentials. Takes milliseconds.
bool fits(auth::Mechanism mechanism, const auth::ScramCredentials& stored, const BasicCredentials& given) {
  const auto prepared = auth::preparePassword(mechanism, given.user, given.password);
  if (!prepared.isOK()) return false;
  const auto derived = auth::deriveCredentials(mechanism, *prepared, stored.salt, stored.iterationCount);
  return auth::equalInConstantTime(derived.storedKey, stored.storedKey);
}

struct Stored {
  auth::Mechanism mechanism = auth::Mechanism::kScramSha256;
  auth::ScramCredentials credentials;
  bool decoy = true;
};

/// The user's credentials for the strongest mechanism there is; decoys for an unknown user, which take as long to
/// check.
Stored storedFor(const std::optional<bson::Document>& user, const BasicCredentials& given, const std::string& secret) {
  if (user) {
    const bson::Element field = (*user)["credentials"];
    for (const auto mechanism : {auth::Mechanism::kScramSha256, auth::Mechanism::kScramSha1}) {
      if (!field.is(bson::Type::kDocument)) break;
      auto read = auth::readUserCredentials(field.asDocument(), mechanism);
      if (read.isOK()) return {mechanism, std::move(*read), false};
    }
  }
  const auto mechanism = auth::Mechanism::kScramSha256;
  return {mechanism, auth::decoyCredentials(mechanism, given.user, given.database, secret), true};
}

std::string fingerprintOf(const bson::Document& user) {
  return auth::digest(auth::Mechanism::kScramSha256, user["credentials"].valueBytes());
}

/// Has a blocking worker check the password; fails, too, if the worker goes away with it. No coroutine: g++ 12 destroys
/// the captures of a lambda that is written in one twice.
Future<Status> checkPassword(server::BlockingWork& blocking, Stored stored, BasicCredentials given) {
  auto promise = std::make_shared<Promise<Status>>();
  auto future = promise->future();
  blocking.run(
      "check a password", server::WorkLength::kShort,
      [stored = std::move(stored), given = std::move(given)] {
        return fits(stored.mechanism, stored.credentials, given)
                   ? Status::OK()
                   : Status(ErrorCode::kAuthenticationFailed, "the password does not fit");
      },
      [promise](Status outcome) { promise->set(std::move(outcome)); });
  return future;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char c : bytes) {
    out += "0123456789abcdef"[c >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

/// "localhost" of "localhost:8080", "::1" of "[::1]:8080"; empty when the rest is no port.
std::string_view nameOf(std::string_view host) {
  const bool inBrackets = host.starts_with('[');
  const size_t end = inBrackets ? host.find(']') : host.find(':');
  const std::string_view name = inBrackets ? host.substr(1, end == host.npos ? 0 : end - 1) : host.substr(0, end);
  std::string_view rest = end == host.npos ? std::string_view() : host.substr(end + (inBrackets ? 1 : 0));
  if (rest.empty()) return name;
  const std::string_view port = rest.substr(1);
  const bool isPort = rest.front() == ':' && !port.empty() && port.find_first_not_of("0123456789") == port.npos;
  return isPort ? name : std::string_view();
}

}  // namespace

Task<Identity> OpenAccess::identify(HttpRequest) { co_return again({}); }

Identity OpenAccess::again(const LogIn&) {
  Identity everybody{.outcome = Identity::Outcome::kKnown};
  everybody.privileges.add({.kind = auth::ResourcePattern::Kind::kAny}, auth::ActionSet().set());
  return everybody;
}

std::optional<BasicCredentials> parseBasic(std::string_view authorization) {
  constexpr std::string_view kScheme = "basic ";
  if (authorization.size() < kScheme.size() || authorization.size() > kLongestHeader) return std::nullopt;
  for (size_t i = 0; i < kScheme.size(); ++i)
    if (static_cast<char>(std::tolower(static_cast<unsigned char>(authorization[i]))) != kScheme[i])
      return std::nullopt;
  auto decoded = auth::fromBase64(authorization.substr(kScheme.size()));
  if (!decoded.isOK()) return std::nullopt;
  const auto colon = decoded->find(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  BasicCredentials out{decoded->substr(0, colon), "admin", decoded->substr(colon + 1)};
  if (const auto at = out.user.rfind('@'); at != std::string::npos && at > 0 && at + 1 < out.user.size()) {
    out.database = out.user.substr(at + 1);
    out.user.resize(at);
  }
  return out;
}

bool isLoopbackHost(std::string_view host) {
  const std::string_view name = nameOf(host);
  boost::system::error_code notAnAddress;
  const auto address = boost::asio::ip::make_address(name, notAnAddress);
  return notAnAddress ? name == "localhost" : address.is_loopback();
}

bool isForged(const HttpRequest& request) {
  if (request.action.empty()) return true;
  if (request.origin.empty()) return false;
  return request.host.empty() ||
         (request.origin != "http://" + request.host && request.origin != "https://" + request.host);
}

std::optional<UserAccess::Session> UserAccess::sessionOf(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = byKey_.find(key);
  if (found == byKey_.end()) return std::nullopt;
  if (found->second->logIn.ends <= options_.environment->now()) {
    sessions_.erase(found->second);
    byKey_.erase(found);
    return std::nullopt;
  }
  return *found->second;
}

void UserAccess::remember(Session session) {
  const std::lock_guard lock(mutex_);
  if (const auto old = byKey_.find(session.key); old != byKey_.end()) {
    sessions_.erase(old->second);
    byKey_.erase(old);
  }
  sessions_.push_front(std::move(session));
  byKey_[sessions_.front().key] = sessions_.begin();
  while (sessions_.size() > options_.maxSessions) {
    byKey_.erase(sessions_.back().key);
    sessions_.pop_back();
  }
}

void UserAccess::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = byKey_.find(key);
  if (found == byKey_.end()) return;
  sessions_.erase(found->second);
  byKey_.erase(found);
}

Identity UserAccess::unread(const Status& why) const {
  if (why == ErrorCode::kLockTimeout) return {.outcome = Identity::Outcome::kUnreadable};
  if (options_.onFailure) options_.onFailure(why);
  return {.outcome = Identity::Outcome::kFailed, .failure = why};
}

Identity UserAccess::again(const LogIn& logIn) {
  if (logIn.ends <= options_.environment->now()) return {};
  const auto user = options_.find(logIn.user, logIn.database);
  if (!user.isOK()) return unread(user.status());
  if (!*user || fingerprintOf(**user) != logIn.fingerprint) return {};
  auto privileges = options_.privilegesOf(**user);
  if (!privileges.isOK()) return unread(privileges.status());
  return {.outcome = Identity::Outcome::kKnown,
          .user = logIn.user + "@" + logIn.database,
          .privileges = std::move(*privileges),
          .logIn = logIn};
}

/// Headers are kept as a keyed hash: no password lies in memory for longer than its request.
std::string UserAccess::keyOfHeader(std::string_view authorization) {
  {
    const std::lock_guard lock(mutex_);
    if (headerSecret_.empty()) headerSecret_ = auth::randomBytes(options_.random, kTokenBytes);
  }
  return "header:" + hex(auth::hmac(auth::Mechanism::kScramSha256, headerSecret_, authorization));
}

Task<Identity> UserAccess::identify(HttpRequest request) {
  std::string key;
  if (!request.authorization.empty()) {
    key = keyOfHeader(request.authorization);
  } else if (const auto token = cookieValue(request.cookie, kSessionCookie); !token.empty()) {
    key = "token:" + std::string(token);
  }
  if (key.empty()) co_return Identity{};
  if (const auto session = sessionOf(key)) {
    Identity who = again(session->logIn);
    if (who.outcome != Identity::Outcome::kUnknown) co_return who;
    forget(key);
  }
  if (request.authorization.empty()) co_return Identity{};
  co_return co_await logIn(std::move(key), std::move(request.authorization));
}

Task<Identity> UserAccess::logIn(std::string key, std::string authorization) {
  const auto given = parseBasic(authorization);
  if (!given) co_return Identity{};
  struct Slot {
    std::atomic<int>& count;
    explicit Slot(std::atomic<int>& c) : count(c) { ++count; }
    ~Slot() { --count; }
  } slot(checks_);
  if (slot.count > options_.maxChecks) co_return Identity{Identity::Outcome::kOverloaded};
  const auto found = options_.find(given->user, given->database);
  if (!found.isOK()) co_return unread(found.status());
  const std::optional<bson::Document> user = *found;
  const Stored stored = storedFor(user, *given, options_.secret);
  Future<Status> outcome = checkPassword(*options_.blocking, stored, *given);
  const Status checked = co_await outcome;
  if (!checked.isOK() || stored.decoy) co_return Identity{};
  const TimePoint ends = options_.environment->now() + options_.sessionTime;
  Session session{std::move(key), {given->user, given->database, fingerprintOf(*user), ends}};
  Identity who = again(session.logIn);
  if (who.outcome != Identity::Outcome::kKnown) co_return who;
  remember(session);
  who.sessionToken = hex(auth::randomBytes(options_.random, kTokenBytes));
  session.key = "token:" + who.sessionToken;
  remember(std::move(session));
  co_return who;
}

}  // namespace troupe::supervisors
