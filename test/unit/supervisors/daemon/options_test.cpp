#include "supervisors/daemon/options.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

StatusWith<Options> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "trouped");
  return parseOptions(static_cast<int>(arguments.size()), arguments.data());
}

struct ConfigFile {
  explicit ConfigFile(const std::string& text) : path(testing::TempDir() + "trouped_options_test.yaml") {
    std::ofstream(path) << text;
  }
  ~ConfigFile() { std::remove(path.c_str()); }
  std::string path;
};

TEST(Options, DefaultsServeOnLoopbackWithoutAuthentication) {
  const auto options = parse({});
  ASSERT_TRUE(options.isOK());
  EXPECT_EQ(options->port, 27017);
  EXPECT_EQ(options->bindIp, "127.0.0.1");
  EXPECT_FALSE(options->auth);
  EXPECT_TRUE(options->journal);
}

TEST(Options, TheCommandLineOverridesTheFile) {
  const ConfigFile file(
      "net:\n  port: 3000\n  bindIp: 0.0.0.0\nstorage:\n  dbPath: /tmp/x\nsecurity:\n  authorization: enabled\n");
  const auto options = parse({"--config", file.path.c_str(), "--port", "4000"});
  ASSERT_TRUE(options.isOK()) << options.status().toString();
  EXPECT_EQ(options->port, 4000);
  EXPECT_EQ(options->bindIp, "0.0.0.0");
  EXPECT_EQ(options->dbPath, "/tmp/x");
  EXPECT_TRUE(options->auth);
}

TEST(Options, WhatWasGivenIsReportedInTheShapeOfTheFile) {
  const auto options =
      parse({"--port", "4000", "--setParameter", "enableTestCommands=1", "--setParameter", "logLevel=2"});
  ASSERT_TRUE(options.isOK()) << options.status().toString();
  EXPECT_EQ(options->parsed.view().at("net.port").toInt64(), 4000);
  EXPECT_EQ(options->parsed.view().at("setParameter.enableTestCommands").toStringOr(), "1");
  EXPECT_EQ(options->setParameters, (std::vector<std::string>{"enableTestCommands=1", "logLevel=2"}));
}

TEST(Options, FlagsCanBeTurnedOff) {
  const auto options = parse({"--nojournal"});
  ASSERT_TRUE(options.isOK()) << options.status().toString();
  EXPECT_FALSE(options->journal);
}

TEST(Options, AMembersDirectoryIsNotRepaired) {
  EXPECT_TRUE(parse({"--repair"}).isOK());
  const auto options = parse({"--repair", "--replSet", "rs"});
  EXPECT_EQ(options.status(), ErrorCode::kBadValue);
}

TEST(Options, ACacheTooSmallForLargeDocumentsIsRefused) {
  EXPECT_TRUE(parse({"--wiredTigerCacheSizeGB", "0.25"}).isOK());
  for (const auto* size : {"0.1", "-1", "nan", "1e9"}) {
    const Status refused = parse({"--wiredTigerCacheSizeGB", size}).status();
    EXPECT_EQ(refused.code(), ErrorCode::kBadValue) << size;
  }
  EXPECT_NE(parse({"--wiredTigerCacheSizeGB", "0.01"}).status().reason().find("leave the option out"),
            std::string::npos);
}

TEST(Options, TheLogOfAMemberHasASizeAndARetention) {  // OPL-011, TRN-007
  const auto options = parse({"--oplogSize", "5", "--oplogMinRetentionHours", "1.5"});
  ASSERT_TRUE(options.isOK()) << options.status().toString();
  EXPECT_EQ(options->oplogSizeMB, 5);
  EXPECT_EQ(options->oplogMinRetentionHours, 1.5);
  for (const auto* size : {"0", "-1", "1073741825"})
    EXPECT_EQ(parse({"--oplogSize", size}).status(), ErrorCode::kBadValue) << size;
  for (const auto* hours : {"-1", "nan", "1e9"})
    EXPECT_EQ(parse({"--oplogMinRetentionHours", hours}).status(), ErrorCode::kBadValue) << hours;
}

TEST(Options, MistakesAreNamed) {
  EXPECT_NE(parse({"--prot", "1"}).status().reason().find("--prot"), std::string::npos);
  EXPECT_NE(parse({"--port", "70000"}).status().reason().find("--port"), std::string::npos);
  EXPECT_NE(parse({"--setParameter", "x"}).status().reason().find("name=value"), std::string::npos);
  const ConfigFile unknown("net:\n  prot: 1\n");
  EXPECT_NE(parse({"--config", unknown.path.c_str()}).status().reason().find("net.prot"), std::string::npos);
  const ConfigFile wrongType("net:\n  port: many\n");
  EXPECT_NE(parse({"--config", wrongType.path.c_str()}).status().reason().find("net.port"), std::string::npos);
  EXPECT_EQ(parse({"--config", "/no/such/file"}).status().code(), ErrorCode::kFileNotOpen);
}

}  // namespace
TEST(Options, ThePageNamesEachWithItsPlaceAndDefault) {
  const std::string page = optionsPage();
  EXPECT_NE(page.find("| `--port` | `net.port` | `27017` | port to listen on |"), std::string::npos) << page;
  EXPECT_NE(page.find("| `--journal`, `--nojournal` | `storage.journal.enabled` | `true` |"), std::string::npos);
  EXPECT_NE(page.find("| `enableTestCommands` | `false` | no |"), std::string::npos);
}

}  // namespace troupe::supervisors
