#include "messaging/tls/options.hpp"

#include <gtest/gtest.h>

namespace troupe::tls {
namespace {

TlsOptions required() {
  TlsOptions options;
  options.mode = TlsMode::kRequire;
  options.certificateKeyFile = "server.pem";
  return options;
}

TEST(TlsMode, IsKnownByItsName) {
  for (const auto* name : {"disabled", "allowTLS", "preferTLS", "requireTLS"})
    EXPECT_EQ(tlsModeName(*tlsModeByName(name)), name);
  EXPECT_EQ(tlsModeByName("requireSSL").status(), ErrorCode::kBadValue);
}

TEST(TlsOptions, NeedACertificateWhenTlsIsOn) {
  EXPECT_TRUE(checkOptions({}).isOK());
  EXPECT_TRUE(checkOptions(required()).isOK());
  auto options = required();
  options.certificateKeyFile.clear();
  EXPECT_EQ(checkOptions(options), ErrorCode::kInvalidOptions);
}

TEST(TlsOptions, RefuseFilesThatWouldBeIgnored) {
  auto options = required();
  options.mode = TlsMode::kDisabled;
  EXPECT_EQ(checkOptions(options), ErrorCode::kInvalidOptions);
  options = required();
  options.crlFile = "revoked.pem";
  EXPECT_EQ(checkOptions(options), ErrorCode::kInvalidOptions);
}

TEST(TlsOptions, LeaveAProtocolToSpeak) {
  auto options = required();
  options.disabledProtocols = {"TLS1_0", "TLS1_2"};
  EXPECT_TRUE(checkOptions(options).isOK());
  options.disabledProtocols = {"TLS1_2", "TLS1_3"};
  EXPECT_EQ(checkOptions(options), ErrorCode::kInvalidOptions);
  options.disabledProtocols = {"SSLv3"};
  EXPECT_EQ(checkOptions(options), ErrorCode::kBadValue);
}

}  // namespace
}  // namespace troupe::tls
