#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "actors/server/parameters.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

/// For whom a connection holds memory.
struct MessageOwner {
  std::string key;   ///< what is counted goes by it; may be any bytes
  std::string name;  ///< for people
};

/// Bounds the memory of messages that have not arrived as a whole, and of answers that were not read: nothing but time
/// keeps a peer from leaving it allocated. Clients that have yet to authenticate share a small bound, all clients a
/// larger one. One owner (a user, or an address) may hold at most three times what is left of a bound: something always
/// is, for others. Thread-safe.
class MessageMemory {
  /// What all share, or those that have yet to authenticate.
  struct Pool {
    int64_t bytes = 0;
    std::map<std::string, int64_t, std::less<>> owners;
    void add(const std::string& owner, int64_t more);
  };
  struct Sums {
    std::mutex mutex;  // guards the pools
    Pool all, unknown;
    std::atomic<int64_t> refused{0};
  };

 public:
  /// What one connection holds; gives it back. Used by that connection alone; may outlive the MessageMemory.
  class Share {
   public:
    explicit Share(const MessageMemory& memory) : sums_(memory.sums_), parameters_(memory.parameters_) {}
    ~Share() {
      const std::lock_guard lock(sums_->mutex);
      set(0, true, {});
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// To be called before the connection's buffer becomes `bytes` large. ExceededMemoryLimit: it must not; what it
    /// held before stays counted.
    Status resize(int64_t bytes, bool trusted, const MessageOwner& owner);
    /// The same where the caller can do without: a failure is not counted among the refusals.
    bool tryResize(int64_t bytes, bool trusted, const MessageOwner& owner) { return !bound(bytes, trusted, owner.key); }
    int64_t bytes() const { return bytes_; }

   private:
    /// Resizes, or gives the name of the bound that it would pass.
    const char* bound(int64_t bytes, bool trusted, const std::string& owner);
    /// Under the mutex, as the next.
    void set(int64_t bytes, bool trusted, const std::string& owner);
    bool isTooMuch(const Pool& pool, int64_t limitMB) const;
    std::shared_ptr<Sums> sums_;
    const Parameters& parameters_;
    int64_t bytes_ = 0;
    bool trusted_ = true;
    std::string owner_;
  };

  explicit MessageMemory(const Parameters& parameters) : parameters_(parameters) {}

  int64_t bytes() const { return of(&Sums::all); }
  int64_t unknownBytes() const { return of(&Sums::unknown); }
  int64_t refusals() const { return sums_->refused.load(std::memory_order_relaxed); }

 private:
  int64_t of(Pool Sums::*pool) const {
    const std::lock_guard lock(sums_->mutex);
    return (sums_.get()->*pool).bytes;
  }
  const Parameters& parameters_;
  const std::shared_ptr<Sums> sums_ = std::make_shared<Sums>();
};

}  // namespace troupe::server
