#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "actors/server/token_bucket.hpp"

namespace troupe::server {

/// Reasons to close a connection before it is served, or to give its place to another.
enum class ConnectionRefusal {
  kTooMany,  ///< as many as allowed are open
  kTooFast,  ///< its address opens more of them in a second than it may
  kSilent,   ///< it did not finish its handshake or first message in time, or did not go on with a message
  kUnread,   ///< it did not read its answer
  kFailed,   ///< it could not be accepted at all: the process has no descriptor left
  kCount
};
/// Its name in metrics: "tooMany", "tooFast", "silent", "unread", "failed".
std::string_view refusalName(ConnectionRefusal refusal);

/// Admission of connections at the node's port: how many there are, and how fast they may come. Each has a descriptor
/// from the moment it is accepted, so a place is taken before anything is read. Thread-safe.
class ConnectionGate {
  struct Counts;

 public:
  /// Places beyond the limit for links of other nodes, so that clients cannot cut a cluster apart. A connection that
  /// is given one must open a link at once.
  static constexpr int64_t kLinkRoom = 64;

  /// One connection's place. Gives itself back; may outlive the gate.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : counts_(std::move(other.counts_)), forLink_(other.forLink_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(counts_, other.counts_);
      std::swap(forLink_, other.forLink_);
      return *this;
    }
    ~Place();
    explicit operator bool() const { return counts_ != nullptr; }
    /// It is one of those beyond the limit.
    bool isForLink() const { return forLink_; }

   private:
    friend class ConnectionGate;
    Place(std::shared_ptr<Counts> counts, bool forLink) : counts_(std::move(counts)), forLink_(forLink) {}
    std::shared_ptr<Counts> counts_;
    bool forLink_ = false;
  };

  explicit ConnectionGate(int64_t limit) : limit_(limit) {}

  /// A place below the limit, else one for a link; none when there is no room for either.
  Place enter();
  /// Whether the address of `remote` may open one more now. `perSecond`: 0 for no limit; four seconds' worth may come
  /// at once.
  bool isInTime(std::string_view remote, TimePoint now, int64_t perSecond);
  /// How long the next accept must wait so that all addresses together open `perSecond` connections on average; 0: no
  /// limit. One second's worth may come at once.
  Duration pauseBeforeNext(TimePoint now, int64_t perSecond);
  /// Counts a connection that was closed.
  void refused(ConnectionRefusal why) { refused_[static_cast<size_t>(why)].fetch_add(1, std::memory_order_relaxed); }

  int64_t limit() const { return limit_; }
  /// All places below the limit are taken.
  bool isFull() const { return counts_->below.load(std::memory_order_relaxed) >= limit_; }
  /// Places taken, those of links included.
  int64_t open() const;
  int64_t refusals(ConnectionRefusal why) const {
    return refused_[static_cast<size_t>(why)].load(std::memory_order_relaxed);
  }
  int64_t refusals() const;

 private:
  struct Counts {
    std::atomic<int64_t> below{0};     ///< within the limit
    std::atomic<int64_t> forLinks{0};  ///< beyond it
  };
  const int64_t limit_;
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  std::array<std::atomic<int64_t>, static_cast<size_t>(ConnectionRefusal::kCount)> refused_{};
  std::mutex mutex_;  // guards the buckets
  AddressBuckets addresses_;
  TokenBucket all_;
};

}  // namespace troupe::server
