#include "supervisors/daemon/login_secret.hpp"

#include <fstream>

#include "messaging/auth/crypto.hpp"
#include "storage/engine/data_directory.hpp"

namespace troupe::supervisors {

namespace {

constexpr size_t kSecretBytes = 32;
constexpr const char* kSecretFile = "/troupe.secret";

}  // namespace

/// The purpose keeps the secret apart from all else that the key serves: it proves nothing about the key.
std::string loginSecretOfKey(std::string_view key) { return auth::hkdf(key, "", "decoy credentials", kSecretBytes); }

StatusWith<std::string> loginSecretKeptIn(const std::string& directory, const auth::RandomSource& random) {
  const std::string path = directory + kSecretFile;
  std::string text;
  std::ifstream file(path);
  std::getline(file, text);
  const auto kept = auth::fromBase64(text);
  if (kept.isOK() && kept->size() == kSecretBytes) return *kept;
  std::string secret = auth::randomBytes(random, kSecretBytes);
  TROUPE_TRY(storage::writeDurably(path, auth::toBase64(secret) + "\n"));
  return secret;
}

}  // namespace troupe::supervisors
