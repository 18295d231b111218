#include "actors/transport/name_resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace troupe::link {

namespace {

/// Lookups at once; the names of a large cluster. Others wait.
constexpr size_t kLookupsAtOnce = 64;
/// Names whose last good addresses are remembered. Operators may ask for strangers.
constexpr size_t kNamesRemembered = 1024;

boost::asio::ip::address addressOf(const sockaddr* found) {
  if (found->sa_family == AF_INET) {
    sockaddr_in v4 = {};
    memcpy(&v4, found, sizeof v4);
    return boost::asio::ip::address_v4(ntohl(v4.sin_addr.s_addr));
  }
  sockaddr_in6 v6 = {};
  memcpy(&v6, found, sizeof v6);
  boost::asio::ip::address_v6::bytes_type bytes;
  memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  return boost::asio::ip::address_v6(bytes, v6.sin6_scope_id);
}

}  // namespace

StatusWith<HostAddresses> lookUpHost(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); failed != 0) {
    const std::string why = failed == EAI_SYSTEM ? std::generic_category().message(errno) : ::gai_strerror(failed);
    return Status(ErrorCode::kHostNotFound, host + ": " + why);
  }
  HostAddresses addresses;
  for (const addrinfo* each = found; each; each = each->ai_next)
    if (each->ai_family == AF_INET || each->ai_family == AF_INET6) addresses.push_back(addressOf(each->ai_addr));
  ::freeaddrinfo(found);
  if (addresses.empty()) return Status(ErrorCode::kHostNotFound, host + ": it has no addresses");
  return addresses;
}

struct NameResolver::State {
  struct Name {
    bool isUnderWay = false;  ///< or waits for its turn
    std::vector<Found> waiting;
    HostAddresses lastGood;
  };

  State(boost::asio::io_context& context, Lookup lookup) : io(context), lookUp(std::move(lookup)) {}
  /// Makes room for one more name; under the mutex.
  void forgetSome() {
    if (names.size() < kNamesRemembered) return;
    std::erase_if(names, [](const auto& name) { return !name.second.isUnderWay; });
  }
  /// Gives everybody who waits for the name what was found; under the mutex, which keeps the context until then.
  void deliver(const std::string& host, StatusWith<HostAddresses> found) {
    if (isClosed) return;
    Name& name = names[host];
    name.isUnderWay = false;
    if (found.isOK()) name.lastGood = *found;
    else if (!name.lastGood.empty()) found = name.lastGood;
    for (Found& each : std::exchange(name.waiting, {}))
      boost::asio::post(io, [each = std::move(each), found] { each(found); });
  }

  boost::asio::io_context& io;  ///< not to be touched once it is closed
  const Lookup lookUp;
  std::mutex mutex;  // guards all below
  bool isClosed = false;
  std::map<std::string, Name, std::less<>> names;
  std::deque<std::string> queue;  ///< of names that wait for a thread
  size_t threads = 0;
};

boost::asio::execution_context::id NameResolver::id;

NameResolver::NameResolver(boost::asio::execution_context& context, Lookup lookup)
    : service(context),
      state_(std::make_shared<State>(static_cast<boost::asio::io_context&>(context), std::move(lookup))) {}

NameResolver::~NameResolver() = default;

void NameResolver::resolve(const std::string& host, Found found) {
  const std::lock_guard lock(state_->mutex);
  if (state_->isClosed) return;
  state_->forgetSome();
  State::Name& name = state_->names[host];
  name.waiting.push_back(std::move(found));
  if (std::exchange(name.isUnderWay, true)) return;
  if (state_->threads >= kLookupsAtOnce) return state_->queue.push_back(host);
  try {
    std::thread(&NameResolver::lookUp, state_, host).detach();
    ++state_->threads;
  } catch (const std::system_error& error) {
    state_->deliver(host, Status(ErrorCode::kHostUnreachable,
                                 host + ": there is no thread to look the name up: " + error.code().message()));
  }
}

HostAddresses NameResolver::lastGood(const std::string& host) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->names.find(host);
  return found == state_->names.end() ? HostAddresses() : found->second.lastGood;
}

/// Life of a thread: this name, then those that wait.
void NameResolver::lookUp(const std::shared_ptr<State>& state, std::string host) {
  for (;;) {
    StatusWith<HostAddresses> found = state->lookUp(host);
    const std::lock_guard lock(state->mutex);
    state->deliver(host, std::move(found));
    if (state->queue.empty() || state->isClosed) {
      --state->threads;
      return;
    }
    host = std::move(state->queue.front());
    state->queue.pop_front();
  }
}

/// The waiting tries go here, while the context still exists; a lookup under way finds nobody when it ends.
void NameResolver::shutdown() {
  decltype(State::names) dropped;
  const std::lock_guard lock(state_->mutex);
  state_->isClosed = true;
  state_->queue.clear();
  dropped.swap(state_->names);
}

}  // namespace troupe::link
