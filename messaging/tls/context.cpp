#include "messaging/tls/context.hpp"

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>

namespace troupe::tls {
namespace {

namespace ssl = boost::asio::ssl;
using Context = std::shared_ptr<ssl::context>;

Status failure(std::string_view what, const std::string& file, const boost::system::error_code& error) {
  return {ErrorCode::kInvalidSSLConfiguration,
          "cannot use the " + std::string(what) + " " + file + ": " + error.message()};
}

void setProtocols(ssl::context& context, const TlsOptions& options) {
  auto flags = ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
               ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 | ssl::context::single_dh_use;
  const auto off = [&](std::string_view name) { return std::ranges::count(options.disabledProtocols, name) > 0; };
  if (off("TLS1_2")) flags |= ssl::context::no_tlsv1_2;
  if (off("TLS1_3")) flags |= ssl::context::no_tlsv1_3;
  context.set_options(flags);
  SSL_CTX_set_options(context.native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

Status useCertificate(ssl::context& context, const TlsOptions& options) {
  if (options.certificateKeyFile.empty()) return {};
  boost::system::error_code error;
  const auto& file = options.certificateKeyFile;
  // Without this OpenSSL would ask for a missing password on the terminal.
  context.set_password_callback([password = options.certificateKeyFilePassword](auto, auto) { return password; });
  context.use_certificate_chain_file(file, error);
  if (error) return failure("certificate in", file, error);
  context.use_private_key_file(file, ssl::context::pem, error);
  if (error) return failure("private key in", file, error);
  return {};
}

Status useRevocations(ssl::context& context, const std::string& file) {
  if (file.empty()) return {};
  auto* store = SSL_CTX_get_cert_store(context.native_handle());
  auto* lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
  if (!lookup || X509_load_crl_file(lookup, file.c_str(), X509_FILETYPE_PEM) <= 0)
    return {ErrorCode::kInvalidSSLConfiguration, "cannot use the revocation list " + file};
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  return {};
}

Status useAuthorities(ssl::context& context, const TlsOptions& options) {
  boost::system::error_code error;
  if (options.caFile.empty()) {
    context.set_default_verify_paths(error);
    return {};
  }
  context.load_verify_file(options.caFile, error);
  if (error) return failure("certificate authorities in", options.caFile, error);
  return useRevocations(context, options.crlFile);
}

StatusWith<Context> make(ssl::context::method method, const TlsOptions& options) {
  Context context;
  try {
    context = std::make_shared<ssl::context>(method);
  } catch (const boost::system::system_error& e) {
    return {ErrorCode::kInvalidSSLConfiguration, std::string("OpenSSL cannot be used: ") + e.what()};
  }
  setProtocols(*context, options);
  TROUPE_TRY(useCertificate(*context, options));
  TROUPE_TRY(useAuthorities(*context, options));
  return context;
}

}  // namespace

StatusWith<Context> makeServerContext(const TlsOptions& options) {
  if (options.mode == TlsMode::kDisabled) return {ErrorCode::kInvalidOptions, "TLS is disabled"};
  TROUPE_TRY(checkOptions(options));
  TROUPE_ASSIGN(auto context, make(ssl::context::tls_server, options));
  auto verify = ssl::verify_none;
  if (!options.caFile.empty() && !options.allowInvalidCertificates) {
    verify = ssl::verify_peer;
    if (!options.allowConnectionsWithoutCertificates) verify |= ssl::verify_fail_if_no_peer_cert;
    // The names of acceptable authorities help clients to choose a certificate.
    SSL_CTX_set_client_CA_list(context->native_handle(), SSL_load_client_CA_file(options.caFile.c_str()));
  }
  context->set_verify_mode(verify);
  // Without an id OpenSSL refuses to resume sessions of verified clients, though it hands out tickets for that.
  constexpr std::string_view kSessionIds = "troupe";
  SSL_CTX_set_session_id_context(context->native_handle(), reinterpret_cast<const unsigned char*>(kSessionIds.data()),
                                 static_cast<unsigned>(kSessionIds.size()));
  return context;
}

StatusWith<Context> makeClientContext(const TlsOptions& options) {
  TROUPE_ASSIGN(auto context, make(ssl::context::tls_client, options));
  context->set_verify_mode(options.allowInvalidCertificates ? ssl::verify_none : ssl::verify_peer);
  return context;
}

}  // namespace troupe::tls
