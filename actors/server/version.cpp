#include "actors/server/version.hpp"

#include <openssl/crypto.h>

namespace troupe::server {

std::string openSslVersion() { return OpenSSL_version(OPENSSL_VERSION); }

}  // namespace troupe::server
