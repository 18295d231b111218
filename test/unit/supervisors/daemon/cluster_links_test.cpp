#include "supervisors/daemon/cluster_links.hpp"

#include <gtest/gtest.h>

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

TEST(ClusterLinks, AKeyFileThatCannotBeReadIsAnError) {
  Options options;
  options.keyFile = "/nonexistent";
  EXPECT_EQ(linkOptions(options).status().code(), ErrorCode::kFileNotOpen);
}

}  // namespace
}  // namespace troupe::supervisors
