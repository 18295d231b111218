#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "messaging/client/connection.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::demo {

inline constexpr std::string_view kWritten = "written";

/// The member among these that takes writes, connected. Errors: HostUnreachable (none does at the moment).
StatusWith<client::Connection> connectToPrimary(const std::vector<uint16_t>& ports);

/// Clients that insert documents into `demo.written`, one after the other, each acknowledged by a majority of the set,
/// and that look for the new primary when theirs is gone. The `_id`s are numbers.
class MajorityWriters {
 public:
  /// A client waits for an answer until its connection breaks.
  MajorityWriters(std::vector<uint16_t> ports, int clients);
  ~MajorityWriters() { stop(); }
  MajorityWriters(const MajorityWriters&) = delete;

  /// Ends all of them after the write that each is at.
  void stop();
  int64_t acknowledged() const;
  /// Writes that a broken connection or an error has left unclear: they may be there or not.
  int64_t unclear() const { return unclear_; }
  /// The longest time between two acknowledgements of one client.
  double longestWaitSeconds() const;
  /// The acknowledged writes that a member does not have. Errors: the server's.
  StatusWith<int64_t> missingOn(client::Connection& connection, std::string_view readConcern) const;

 private:
  using Clock = std::chrono::steady_clock;
  void write(int64_t first);
  void acknowledge(int64_t id, Clock::duration waited);

  const std::vector<uint16_t> ports_;
  const int64_t clients_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> unclear_{0};
  mutable std::mutex mutex_;  ///< for the two below
  std::set<int64_t> acknowledged_;
  Clock::duration longestWait_{};
  std::vector<std::thread> threads_;
};

}  // namespace troupe::demo
