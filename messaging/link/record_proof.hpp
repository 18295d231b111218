#pragma once
#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace troupe::link {

/// Bytes of a key for one direction of one link, and of a proof.
inline constexpr size_t kRecordKey = 16;
inline constexpr size_t kRecordProof = 16;

/// Proofs of origin of the records that go one way over one link, in their order: AES-128-GMAC under a key that only
/// the two ends can derive from the cluster's, with the record's number as nonce. Both ends count, so a record that is
/// repeated, left out or moved does not fit. One owner at a time.
class RecordProof {
 public:
  using Proof = std::array<char, kRecordProof>;

  /// `key`: kRecordKey bytes, never used for another direction or another link. Throws std::runtime_error when OpenSSL
  /// refuses.
  explicit RecordProof(std::string_view key);
  /// The proof of the next record.
  Proof next(std::string_view record);

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
  uint64_t number_ = 0;
};

}  // namespace troupe::link
