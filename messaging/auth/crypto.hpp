#pragma once
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::auth {

/// The mechanisms users log in with.
enum class Mechanism { kScramSha1, kScramSha256 };
inline constexpr Mechanism kMechanisms[] = {Mechanism::kScramSha1, Mechanism::kScramSha256};

/// "SCRAM-SHA-1", "SCRAM-SHA-256".
std::string_view mechanismName(Mechanism mechanism);
/// Errors: BadValue for other names.
StatusWith<Mechanism> mechanismByName(std::string_view name);

// Thin covers of OpenSSL with the mechanism's digest; bytes in and out. They throw std::runtime_error when the library
// refuses (no memory, FIPS mode).
std::string digest(Mechanism mechanism, std::string_view bytes);
std::string hmac(Mechanism mechanism, std::string_view key, std::string_view bytes);
std::string pbkdf2(Mechanism mechanism, std::string_view password, std::string_view salt, int iterations);
/// HKDF (RFC 5869) with SHA-256: `size` bytes derived from a secret, for the purpose that `info` names.
std::string hkdf(std::string_view secret, std::string_view salt, std::string_view info, size_t size);
/// Size of the digest: 20 or 32.
size_t digestSize(Mechanism mechanism);
/// The lower-case hexadecimal MD5 digest.
std::string md5Hex(std::string_view bytes);

std::string toBase64(std::string_view bytes);
/// Strict: no white space, correct padding. Errors: FailedToParse.
StatusWith<std::string> fromBase64(std::string_view text);

/// Compares without giving away by its duration where the difference is.
bool equalInConstantTime(std::string_view a, std::string_view b);

/// SASLprep (RFC 4013) of UTF-8 text. Errors: BadValue for malformed UTF-8 and prohibited characters.
StatusWith<std::string> saslPrep(std::string_view text);

}  // namespace troupe::auth
