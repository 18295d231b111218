#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "actors/server/parameters.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

/// Bounds the memory of messages that have not arrived as a whole: nothing but time keeps a peer from leaving it
/// allocated. Clients that have yet to authenticate share a small bound, all clients a larger one. Thread-safe.
class MessageMemory {
  struct Sums {
    std::atomic<int64_t> all{0};
    std::atomic<int64_t> unknown{0};  ///< of clients that have yet to authenticate
    std::atomic<int64_t> refused{0};
  };

 public:
  /// What one connection holds; gives it back. Used by that connection alone; may outlive the MessageMemory.
  class Share {
   public:
    explicit Share(const MessageMemory& memory) : sums_(memory.sums_), parameters_(memory.parameters_) {}
    ~Share() { set(0, true); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// To be called before the connection's buffer becomes `bytes` large. ExceededMemoryLimit: it must not; what it
    /// held before stays counted.
    Status resize(int64_t bytes, bool trusted);

   private:
    void set(int64_t bytes, bool trusted);
    std::shared_ptr<Sums> sums_;
    const Parameters& parameters_;
    int64_t all_ = 0, unknown_ = 0;
  };

  explicit MessageMemory(const Parameters& parameters) : parameters_(parameters) {}

  int64_t bytes() const { return sums_->all.load(std::memory_order_relaxed); }
  int64_t unknownBytes() const { return sums_->unknown.load(std::memory_order_relaxed); }
  int64_t refusals() const { return sums_->refused.load(std::memory_order_relaxed); }

 private:
  const Parameters& parameters_;
  const std::shared_ptr<Sums> sums_ = std::make_shared<Sums>();
};

}  // namespace troupe::server
