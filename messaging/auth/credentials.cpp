#include "messaging/auth/credentials.hpp"

namespace troupe::auth {
namespace {

int iterationsFor(Mechanism mechanism, const IterationCounts& counts) {
  return mechanism == Mechanism::kScramSha1 ? counts.sha1 : counts.sha256;
}

/// Four bytes fewer than the digest, so that the salt and the block counter of PBKDF2 fill one.
size_t saltSize(Mechanism mechanism) { return digestSize(mechanism) - 4; }

bson::Document toDocument(const ScramCredentials& credentials) {
  return bson::doc("iterationCount", credentials.iterationCount, "salt", toBase64(credentials.salt), "storedKey",
                   toBase64(credentials.storedKey), "serverKey", toBase64(credentials.serverKey));
}

}  // namespace

int defaultIterations(Mechanism mechanism) { return iterationsFor(mechanism, {}); }

StatusWith<std::string> preparePassword(Mechanism mechanism, std::string_view user, std::string_view password) {
  if (mechanism == Mechanism::kScramSha256) return saslPrep(password);
  return md5Hex(std::string(user).append(":mongo:").append(password));
}

ScramCredentials deriveCredentials(Mechanism mechanism, std::string_view preparedPassword, std::string_view salt,
                                   int iterations) {
  const auto salted = pbkdf2(mechanism, preparedPassword, salt, iterations);
  return {iterations, std::string(salt), digest(mechanism, hmac(mechanism, salted, "Client Key")),
          hmac(mechanism, salted, "Server Key")};
}

StatusWith<bson::Document> makeUserCredentials(std::string_view user, std::string_view password,
                                               std::span<const Mechanism> mechanisms, const RandomSource& random,
                                               const IterationCounts& iterations) {
  if (user.empty()) return {ErrorCode::kBadValue, "User name must not be empty"};
  if (password.empty()) return {ErrorCode::kBadValue, "Password cannot be empty"};
  bson::Builder credentials;
  for (const auto mechanism : mechanisms) {
    TROUPE_ASSIGN(const auto prepared, preparePassword(mechanism, user, password));
    const auto salt = randomBytes(random, saltSize(mechanism));
    credentials.append(mechanismName(mechanism),
                       toDocument(deriveCredentials(mechanism, prepared, salt, iterationsFor(mechanism, iterations))));
  }
  return credentials.finish();
}

StatusWith<ScramCredentials> readUserCredentials(bson::View credentials, Mechanism mechanism) {
  const auto name = std::string(mechanismName(mechanism));
  const auto element = credentials[name];
  if (!element.is(bson::Type::kDocument))
    return {ErrorCode::kMechanismUnavailable, "the user has no credentials for " + name};
  const auto stored = element.asDocument();
  ScramCredentials result;
  result.iterationCount = static_cast<int>(stored["iterationCount"].toInt64());
  const std::pair<const char*, std::string*> fields[] = {
      {"salt", &result.salt}, {"storedKey", &result.storedKey}, {"serverKey", &result.serverKey}};
  for (const auto& [field, target] : fields) {
    auto bytes = fromBase64(stored[field].toStringOr());
    if (!bytes.isOK()) return {ErrorCode::kUnsupportedFormat, "the user's " + name + " " + field + " is malformed"};
    *target = std::move(bytes).value();
  }
  if (result.iterationCount < kMinIterations || result.salt.empty() ||
      result.storedKey.size() != digestSize(mechanism) || result.serverKey.size() != digestSize(mechanism))
    return {ErrorCode::kUnsupportedFormat, "the user's " + name + " credentials are malformed"};
  return result;
}

bson::Value mechanismsOf(bson::View credentials) {
  bson::Builder names;
  for (const auto& field : credentials)
    if (mechanismByName(field.name()).isOK()) names.push(field.name());
  return names.finishArray();
}

ScramCredentials decoyCredentials(Mechanism mechanism, std::string_view user, std::string_view database,
                                  std::string_view secret, const IterationCounts& iterations) {
  const auto seed = std::string(mechanismName(mechanism)).append(1, '\0').append(database).append(1, '\0').append(user);
  auto bytes = hmac(mechanism, secret, seed);
  // The keys come from the secret as well: no password leads to them.
  return {iterationsFor(mechanism, iterations), bytes.substr(0, saltSize(mechanism)), hmac(mechanism, secret, bytes),
          hmac(mechanism, bytes, secret)};
}

}  // namespace troupe::auth
