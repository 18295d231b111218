#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "actors/environment/environment.hpp"

namespace troupe::server {

/// Rate limit: `perSecond` tokens come in each second, and up to `burst` of them are kept. A rate of 0 limits nothing.
struct TokenRate {
  double perSecond = 0;
  double burst = 0;
};

/// Token bucket of one limited thing. Not thread-safe.
class TokenBucket {
 public:
  /// Takes a token; false when there is none.
  bool take(TimePoint now, const TokenRate& rate);
  /// Takes a token, if need be one that is yet to come, and tells how long that takes.
  Duration reserve(TimePoint now, const TokenRate& rate);
  /// Whether no token is missing, so that forgetting the bucket changes nothing.
  bool isFull(TimePoint now, const TokenRate& rate);

 private:
  void refill(TimePoint now, const TokenRate& rate);

  bool used_ = false;
  double tokens_ = 0;
  TimePoint at_;
};

/// One token bucket for each address. At most kMostAddresses are told apart; while all their buckets are in use,
/// further addresses share one. Not thread-safe.
class AddressBuckets {
 public:
  static constexpr size_t kMostAddresses = 4096;

  /// Takes a token of the address, which is an `addressKey`.
  bool take(const std::string& address, TimePoint now, const TokenRate& rate);
  size_t size() const { return buckets_.size(); }

 private:
  std::unordered_map<std::string, TokenBucket> buckets_;
  TokenBucket others_;
};

/// The part of a peer's name ("10.0.0.9:51234", "fe80::1:51234") that limits per address go by: the IPv4 address, or
/// the first 64 bits of an IPv6 address, which one customer of a network owns as a whole.
std::string addressKey(std::string_view remote);

}  // namespace troupe::server
