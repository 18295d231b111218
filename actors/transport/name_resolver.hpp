#pragma once
#include <boost/asio/execution_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messaging/errors/status.hpp"

namespace boost::asio {
class io_context;
}

namespace troupe::link {

using HostAddresses = std::vector<boost::asio::ip::address>;

/// Looks a name up with the resolver of the machine, which may take half a minute. Errors: HostNotFound.
StatusWith<HostAddresses> lookUpHost(const std::string& host);

/// Finds the addresses of host names. Each name has a thread of its own while it is looked up, so that one whose server
/// does not answer holds up no other; at most one lookup per name is under way, and so many in all. A service of its
/// io_context (`asio::use_service`): it ends with the context, and awaits no lookup then. Thread-safe.
class NameResolver final : public boost::asio::execution_context::service {
 public:
  using key_type = NameResolver;
  static boost::asio::execution_context::id id;
  using Lookup = std::function<StatusWith<HostAddresses>(const std::string& host)>;
  using Found = std::function<void(const StatusWith<HostAddresses>&)>;

  /// `context`: an io_context. `lookup` blocks; tests give one of their own.
  explicit NameResolver(boost::asio::execution_context& context, Lookup lookup = lookUpHost);
  ~NameResolver() override;

  /// Calls `found` on a thread of the context, with what the lookup under way or a new one gives. One that fails gives
  /// the last good addresses, if there are any. Errors: HostNotFound; HostUnreachable: there is no thread for it.
  void resolve(const std::string& host, Found found);
  /// The addresses that the last successful lookup gave, without waiting. Empty: there was none.
  HostAddresses lastGood(const std::string& host) const;

 private:
  struct State;
  void shutdown() override;
  static void lookUp(const std::shared_ptr<State>& state, std::string host);

  const std::shared_ptr<State> state_;  ///< shared with the threads, which may outlive the context
};

}  // namespace troupe::link
