#include "messaging/auth/md5.hpp"

#include <openssl/evp.h>

#include <array>

#include "messaging/errors/invariant.hpp"

namespace troupe::auth {

struct Md5::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Md5::Md5() : state_(std::make_unique<State>()) {
  invariant(EVP_DigestInit_ex(state_->context.get(), EVP_md5(), nullptr) == 1, "the library of ciphers has MD5");
}

Md5::Md5(Md5&&) noexcept = default;
Md5::~Md5() = default;

void Md5::add(std::string_view bytes) {
  invariant(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1, "bytes can be added to a digest");
}

std::string Md5::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  invariant(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) == 1, "a digest can be finished");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

}  // namespace troupe::auth
