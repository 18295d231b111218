#include "messaging/auth/crypto.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <unicode/usprep.h>
#include <unicode/ustring.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

namespace troupe::auth {
namespace {

const EVP_MD* digestOf(Mechanism mechanism) { return mechanism == Mechanism::kScramSha1 ? EVP_sha1() : EVP_sha256(); }

const unsigned char* bytesOf(std::string_view s) { return reinterpret_cast<const unsigned char*>(s.data()); }
unsigned char* bytesOf(std::string& s) { return reinterpret_cast<unsigned char*>(s.data()); }

std::string digestBy(const EVP_MD* algorithm, std::string_view bytes) {
  std::string result(static_cast<size_t>(EVP_MD_get_size(algorithm)), '\0');
  if (EVP_Digest(bytes.data(), bytes.size(), bytesOf(result), nullptr, algorithm, nullptr) != 1)
    throw std::runtime_error("OpenSSL refused to compute a digest");
  return result;
}

StatusWith<std::vector<UChar>> toUtf16(std::string_view text) {
  std::vector<UChar> wide(text.size());  // never more units than bytes
  int32_t size = 0;
  UErrorCode error = U_ZERO_ERROR;
  u_strFromUTF8(wide.data(), static_cast<int32_t>(wide.size()), &size, text.data(), static_cast<int32_t>(text.size()),
                &error);
  if (U_FAILURE(error)) return {ErrorCode::kBadValue, "the text is not valid UTF-8"};
  wide.resize(static_cast<size_t>(size));
  return wide;
}

std::string toUtf8(const std::vector<UChar>& wide) {
  std::string text(wide.size() * 3, '\0');
  int32_t size = 0;
  UErrorCode error = U_ZERO_ERROR;
  u_strToUTF8(text.data(), static_cast<int32_t>(text.size()), &size, wide.data(), static_cast<int32_t>(wide.size()),
              &error);
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace

std::string_view mechanismName(Mechanism mechanism) {
  return mechanism == Mechanism::kScramSha1 ? "SCRAM-SHA-1" : "SCRAM-SHA-256";
}

StatusWith<Mechanism> mechanismByName(std::string_view name) {
  for (const auto mechanism : kMechanisms)
    if (name == mechanismName(mechanism)) return mechanism;
  return {ErrorCode::kBadValue, "'" + std::string(name) + "' is not a valid auth mechanism"};
}

std::string hkdf(std::string_view secret, std::string_view salt, std::string_view info, size_t size) {
  const auto octets = [](const char* name, std::string_view bytes) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
  };
  char sha256[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, sha256, 0),
                                   octets(OSSL_KDF_PARAM_KEY, secret), octets(OSSL_KDF_PARAM_SALT, salt),
                                   octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
  std::string derived(size, '\0');
  if (!context || EVP_KDF_derive(context.get(), bytesOf(derived), size, parameters) != 1)
    throw std::runtime_error("OpenSSL refused to derive a key");
  return derived;
}

size_t digestSize(Mechanism mechanism) { return mechanism == Mechanism::kScramSha1 ? 20 : 32; }

std::string digest(Mechanism mechanism, std::string_view bytes) { return digestBy(digestOf(mechanism), bytes); }

std::string hmac(Mechanism mechanism, std::string_view key, std::string_view bytes) {
  std::string result(digestSize(mechanism), '\0');
  if (!HMAC(digestOf(mechanism), key.data(), static_cast<int>(key.size()), bytesOf(bytes), bytes.size(),
            bytesOf(result), nullptr))
    throw std::runtime_error("OpenSSL refused to compute an HMAC");
  return result;
}

std::string pbkdf2(Mechanism mechanism, std::string_view password, std::string_view salt, int iterations) {
  std::string result(digestSize(mechanism), '\0');
  if (PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), bytesOf(salt),
                        static_cast<int>(salt.size()), iterations, digestOf(mechanism), static_cast<int>(result.size()),
                        bytesOf(result)) != 1)
    throw std::runtime_error("OpenSSL refused to derive a key");
  return result;
}

std::string md5Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : digestBy(EVP_md5(), bytes)) {
    const auto byte = static_cast<uint8_t>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string toBase64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a NUL
  const int size = EVP_EncodeBlock(bytesOf(text), bytesOf(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

StatusWith<std::string> fromBase64(std::string_view text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const Status malformed(ErrorCode::kFailedToParse, "malformed base64");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  // EVP_DecodeBlock forgives white space and misplaced padding, so those are refused here.
  if (text.size() % 4 != 0 || text.substr(0, text.size() - padding).find_first_not_of(kAlphabet) != text.npos)
    return malformed;
  std::string bytes(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(bytesOf(bytes), bytesOf(text), static_cast<int>(text.size())) < 0) return malformed;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

bool equalInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

StatusWith<std::string> saslPrep(std::string_view text) {
  // Printable ASCII stays as it is: the common case needs no tables.
  if (std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; })) return std::string(text);
  TROUPE_ASSIGN(const auto wide, toUtf16(text));
  UErrorCode error = U_ZERO_ERROR;
  const std::unique_ptr<UStringPrepProfile, decltype(&usprep_close)> profile(
      usprep_openByType(USPREP_RFC4013_SASLPREP, &error), &usprep_close);
  if (U_FAILURE(error))
    return {ErrorCode::kInternalError, std::string("SASLprep is not available: ") + u_errorName(error)};
  std::vector<UChar> prepared(wide.size() * 2 + 1);
  const auto prepare = [&] {
    error = U_ZERO_ERROR;
    UParseError position;
    const auto size = usprep_prepare(profile.get(), wide.data(), static_cast<int32_t>(wide.size()), prepared.data(),
                                     static_cast<int32_t>(prepared.size()), USPREP_DEFAULT, &position, &error);
    prepared.resize(static_cast<size_t>(size));
  };
  prepare();
  if (error == U_BUFFER_OVERFLOW_ERROR) prepare();  // the first run told the size that is needed
  if (U_FAILURE(error)) return {ErrorCode::kBadValue, std::string("SASLprep refuses the text: ") + u_errorName(error)};
  return toUtf8(prepared);
}

}  // namespace troupe::auth
