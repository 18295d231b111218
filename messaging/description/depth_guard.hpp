#pragma once
#include <stdexcept>

#include "messaging/description/value_type.hpp"

namespace troupe::machines {

/// One level deeper while it lives, for writers: more than kMaxValueDepth is a broken invariant.
class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) {
    if (depth >= kMaxValueDepth) throw std::length_error("a value is nested too deep to be written");
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace troupe::machines
