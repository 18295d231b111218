#include "actors/server/version.hpp"

#include <openssl/crypto.h>

namespace troupe::commands {

std::string openSslVersion() { return OpenSSL_version(OPENSSL_VERSION); }

}  // namespace troupe::commands
