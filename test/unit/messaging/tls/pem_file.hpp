#pragma once
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <memory>
#include <string>

/// Certificates for tests of TLS.
namespace troupe::tls {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<X509_free>>;
using File = std::unique_ptr<BIO, Freeing<BIO_free>>;

/// A self-signed certificate with its key, in one PEM file as operators make them; with a password the key is
/// encrypted.
inline void writePem(const std::filesystem::path& path, const std::string& password = {}) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_set_version(certificate.get(), 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  auto* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const File file(BIO_new_file(path.c_str(), "w"));
  PEM_write_bio_X509(file.get(), certificate.get());
  PEM_write_bio_PrivateKey(file.get(), key.get(), password.empty() ? nullptr : EVP_aes_128_cbc(), nullptr, 0, nullptr,
                           password.empty() ? nullptr : const_cast<char*>(password.c_str()));
}

}  // namespace troupe::tls
