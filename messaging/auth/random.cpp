#include "messaging/auth/random.hpp"

#include <openssl/rand.h>

#include <stdexcept>

namespace troupe::auth {

RandomSource secureRandom() {
  return [](void* bytes, size_t size) {
    if (RAND_bytes(static_cast<unsigned char*>(bytes), static_cast<int>(size)) != 1)
      throw std::runtime_error("the operating system gave no random bytes");
  };
}

std::string randomBytes(const RandomSource& random, size_t size) {
  std::string bytes(size, '\0');
  random(bytes.data(), size);
  return bytes;
}

}  // namespace troupe::auth
