#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

#include "messaging/bson/types.hpp"

namespace troupe::bson {

/// Where random bits come from: a node's environment in production, a seed in simulations.
using RandomSource = std::function<uint64_t()>;

/// A random (version 4) UUID.
Uuid randomUuid(const RandomSource& random);

/// Makes ObjectIds: seconds, five bytes drawn once, and a counter that begins at a random value. The time is an
/// argument so that simulated nodes stay deterministic. May be used by any thread.
class ObjectIdGenerator {
 public:
  explicit ObjectIdGenerator(const RandomSource& random);
  ObjectId next(uint32_t seconds);

 private:
  uint64_t node_;  // the low 40 bits
  std::atomic<uint32_t> counter_;
};

}  // namespace troupe::bson
