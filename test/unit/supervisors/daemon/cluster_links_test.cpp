#include "supervisors/daemon/cluster_links.hpp"

#include <gtest/gtest.h>

#include "actors/environment/virtual_environment.hpp"
#include "messaging/log/log.hpp"

namespace troupe::supervisors {
namespace {

using link::Anonymous;

TEST(ClusterLinks, WithoutAKeyOnlyWhenToldToAndWithoutAuthorization) {
  Options options;
  EXPECT_EQ(anonymousLinks(options), Anonymous::kNobody);
  options.nodeName = "127.0.0.1:27017";
  EXPECT_EQ(anonymousLinks(options), Anonymous::kLoopback);
  options.auth = true;
  EXPECT_EQ(anonymousLinks(options), Anonymous::kNobody);
  options.clusterAuthMode = "none";
  EXPECT_EQ(anonymousLinks(options), Anonymous::kAnyone);
  options.keyFile = "/key";
  EXPECT_EQ(anonymousLinks(options), Anonymous::kNobody);
}

TEST(ClusterLinks, ANodeWithoutKeyAndLeaveRefusesWithAHint) {
  Node node({.name = "a:1", .environment = std::make_shared<VirtualEnvironment>(), .manual = true});
  log::Log log({}, [] { return int64_t{0}; });
  const auto links = makeLinks(node, Options(), log);
  ASSERT_TRUE(links.isOK());
  auto connecting = (*links)->settings().connect("b:2");
  ASSERT_TRUE(connecting.outcome.isReady());
  EXPECT_NE(connecting.outcome.take().status().reason().find("--keyFile"), std::string::npos);
}

TEST(ClusterLinks, AKeyFileThatCannotBeReadIsAnError) {
  Node node({.name = "a:1", .environment = std::make_shared<VirtualEnvironment>(), .manual = true});
  log::Log log({}, [] { return int64_t{0}; });
  Options options;
  options.keyFile = "/nonexistent";
  EXPECT_EQ(makeLinks(node, options, log).status().code(), ErrorCode::kFileNotOpen);
}

}  // namespace
}  // namespace troupe::supervisors
