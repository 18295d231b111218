#include "actors/server/token_bucket.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace troupe::server {

void TokenBucket::refill(TimePoint now, const TokenRate& rate) {
  if (!used_) tokens_ = rate.burst;
  else if (now > at_)
    tokens_ = std::min(rate.burst, tokens_ + std::chrono::duration<double>(now - at_).count() * rate.perSecond);
  used_ = true;
  at_ = std::max(at_, now);
}

bool TokenBucket::take(TimePoint now, const TokenRate& rate) {
  if (rate.perSecond <= 0) return true;
  refill(now, rate);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Duration TokenBucket::reserve(TimePoint now, const TokenRate& rate) {
  if (rate.perSecond <= 0) return Duration::zero();
  refill(now, rate);
  tokens_ -= 1;
  if (tokens_ >= 0) return Duration::zero();
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / rate.perSecond));
}

bool TokenBucket::isFull(TimePoint now, const TokenRate& rate) {
  refill(now, rate);
  return tokens_ >= rate.burst;
}

bool AddressBuckets::take(const std::string& address, TimePoint now, const TokenRate& rate) {
  if (rate.perSecond <= 0) return true;
  if (const auto known = buckets_.find(address); known != buckets_.end()) return known->second.take(now, rate);
  if (buckets_.size() >= kMostAddresses)
    std::erase_if(buckets_, [&](const auto& entry) { return TokenBucket(entry.second).isFull(now, rate); });
  if (buckets_.size() >= kMostAddresses) return others_.take(now, rate);
  return buckets_[address].take(now, rate);
}

std::string addressKey(std::string_view remote) {
  const std::string host(remote.substr(0, remote.rfind(':')));
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) return host;
  constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // ::ffff:10.0.0.9
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) return host.substr(host.rfind(':') + 1);
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  return std::string(inet_ntop(AF_INET6, bytes.data(), text.data(), text.size())) + "/64";
}

}  // namespace troupe::server
