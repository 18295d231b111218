#include "messaging/link/record_proof.hpp"

#include <cstring>
#include <stdexcept>

namespace troupe::link {

namespace {
constexpr size_t kNonce = 12;

const unsigned char* bytesOf(std::string_view s) { return reinterpret_cast<const unsigned char*>(s.data()); }

void require(int outcome) {
  if (outcome != 1) throw std::runtime_error("OpenSSL refused to prove a record of a link");
}
}  // namespace

RecordProof::RecordProof(std::string_view key) : context_(EVP_CIPHER_CTX_new()) {
  require(context_ && key.size() == kRecordKey);
  require(EVP_EncryptInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, bytesOf(key), nullptr));
}

RecordProof::Proof RecordProof::next(std::string_view record) {
  // GMAC is GCM that encrypts nothing. A nonce must not come twice under one key: 2^64 records do not.
  unsigned char nonce[kNonce] = {};
  std::memcpy(nonce, &number_, sizeof number_);
  ++number_;
  Proof proof;
  int ignored = 0;
  auto* context = context_.get();
  require(EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce));
  require(EVP_EncryptUpdate(context, nullptr, &ignored, bytesOf(record), static_cast<int>(record.size())));
  require(EVP_EncryptFinal_ex(context, reinterpret_cast<unsigned char*>(proof.data()), &ignored));
  require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kRecordProof, proof.data()));
  return proof;
}

}  // namespace troupe::link
