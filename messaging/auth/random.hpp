#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace troupe::auth {

/// Fills bytes with random ones. A parameter of all that needs randomness, so that tests and simulation are repeatable.
using RandomSource = std::function<void(void* bytes, size_t size)>;

/// The operating system's generator (OpenSSL). Throws std::runtime_error when it has no entropy.
RandomSource secureRandom();

/// `size` random bytes.
std::string randomBytes(const RandomSource& random, size_t size);

}  // namespace troupe::auth
