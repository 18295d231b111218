#include "messaging/tls/context.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <boost/asio/ssl/context.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "test/unit/messaging/tls/pem_file.hpp"

namespace troupe::tls {
namespace {

namespace fs = std::filesystem;

using Ssl = std::unique_ptr<SSL, Freeing<SSL_free>>;

/// Lets the two sides shake hands in memory. True when both are content.
bool handshake(boost::asio::ssl::context& server, boost::asio::ssl::context& client) {
  const Ssl accepting(SSL_new(server.native_handle())), connecting(SSL_new(client.native_handle()));
  BIO *one = nullptr, *other = nullptr;
  BIO_new_bio_pair(&one, 0, &other, 0);
  SSL_set_bio(accepting.get(), one, one);
  SSL_set_bio(connecting.get(), other, other);
  SSL_set_accept_state(accepting.get());
  SSL_set_connect_state(connecting.get());
  for (int round = 0; round < 10; ++round) {
    const bool connected = SSL_do_handshake(connecting.get()) == 1;
    if (connected && SSL_do_handshake(accepting.get()) == 1) return true;
    SSL_do_handshake(accepting.get());
  }
  return false;
}

class TlsContext : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("troupe_tls_" + std::to_string(::getpid()));
    fs::create_directory(folder_);
    writePem(folder_ / "node.pem");
    writePem(folder_ / "stranger.pem");
    writePem(folder_ / "locked.pem", "opensesame");
    std::ofstream(folder_ / "garbage.pem") << "not a certificate";
  }
  void TearDown() override { fs::remove_all(folder_); }

  TlsOptions options(const std::string& certificate, const std::string& authority = {}) const {
    TlsOptions result;
    result.mode = TlsMode::kRequire;
    if (!certificate.empty()) result.certificateKeyFile = folder_ / certificate;
    if (!authority.empty()) result.caFile = folder_ / authority;
    return result;
  }
  static bool meet(const TlsOptions& server, const TlsOptions& client) {
    return handshake(**makeServerContext(server), **makeClientContext(client));
  }
  fs::path folder_;
};

TEST_F(TlsContext, LetsClientsInThatTrustTheServer) {
  EXPECT_TRUE(meet(options("node.pem"), options("", "node.pem")));
  EXPECT_FALSE(meet(options("node.pem"), options("", "stranger.pem")));
  auto careless = options("", "stranger.pem");
  careless.allowInvalidCertificates = true;
  EXPECT_TRUE(meet(options("node.pem"), careless));
}

TEST_F(TlsContext, WithAuthoritiesAsksClientsForACertificate) {
  EXPECT_TRUE(meet(options("node.pem", "node.pem"), options("node.pem", "node.pem")));
  EXPECT_FALSE(meet(options("node.pem", "node.pem"), options("", "node.pem")));
  EXPECT_FALSE(meet(options("node.pem", "node.pem"), options("stranger.pem", "node.pem")));
  auto lenient = options("node.pem", "node.pem");
  lenient.allowConnectionsWithoutCertificates = true;
  EXPECT_TRUE(meet(lenient, options("", "node.pem")));
  EXPECT_FALSE(meet(lenient, options("stranger.pem", "node.pem")));
}

TEST_F(TlsContext, SpeaksNoDisabledProtocol) {
  auto server = options("node.pem"), client = options("", "node.pem");
  server.disabledProtocols = {"TLS1_3"};
  EXPECT_TRUE(meet(server, client));
  client.disabledProtocols = {"TLS1_2"};
  EXPECT_FALSE(meet(server, client));
}

TEST_F(TlsContext, OpensAnEncryptedKeyWithItsPasswordOnly) {
  auto locked = options("locked.pem");
  EXPECT_EQ(makeServerContext(locked).status(), ErrorCode::kInvalidSSLConfiguration);
  locked.certificateKeyFilePassword = "opensesame";
  EXPECT_TRUE(makeServerContext(locked).isOK());
}

TEST_F(TlsContext, NamesTheFileThatCannotBeUsed) {
  for (const auto* file : {"missing.pem", "garbage.pem"}) {
    for (const auto& bad : {options(file), options("node.pem", file)}) {
      const auto context = makeServerContext(bad);
      EXPECT_EQ(context.status(), ErrorCode::kInvalidSSLConfiguration);
      EXPECT_NE(context.status().reason().find(file), std::string::npos) << context.status().reason();
    }
  }
  auto revoked = options("node.pem", "node.pem");
  revoked.crlFile = folder_ / "garbage.pem";
  EXPECT_EQ(makeServerContext(revoked).status(), ErrorCode::kInvalidSSLConfiguration);
}

TEST_F(TlsContext, IsNotMadeWhenTlsIsOff) { EXPECT_EQ(makeServerContext({}).status(), ErrorCode::kInvalidOptions); }

}  // namespace
}  // namespace troupe::tls
