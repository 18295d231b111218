// Versions of configs at the end of their range.
#include <limits>

#include "test/unit/state_machines/replication/member_kit.hpp"

namespace troupe::replication::test {
namespace {

constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

ReplicaSetConfig ofVersion(int64_t version) {
  ReplicaSetConfig config = kConfig;
  config.version = version;
  return config;
}
ErrorCode codeOf(const Outcome& out) { return answered(out) ? answered(out)->code() : ErrorCode::kOK; }

TEST(ConfigVersions, AForcedOneIsStoredOnlyIfAStartTakesIt) {
  EXPECT_EQ(codeOf(when(memberOf(kConfig, "b:1"), Reconfig{ofVersion(kInt64Max), true, 99'999})),
            ErrorCode::kInvalidReplicaSetConfig);
  const Outcome highest =
      when(memberOf(kConfig, "b:1"), Reconfig{ofVersion(ReplicaSetConfig::kMaxChosenVersion), true, 99'999});
  ASSERT_TRUE(answered(highest) && answered(highest)->isOK());
  EXPECT_EQ(highest.next.document.config->version, ReplicaSetConfig::kMaxChosenVersion + 99'999);
  EXPECT_TRUE(highest.next.document.config->validate().isOK());
  const Outcome again = when(highest.next, Reconfig{kConfig, true, 500});
  EXPECT_EQ(again.next.document.config->version, ReplicaSetConfig::kMaxChosenVersion + 100'500) << "and others follow";
}

TEST(ConfigVersions, WithoutForceNoneEndsTheChangesOfASet) {
  const Snapshot<Topology> primary = memberOf(kConfig, "a:1", Phase::kPrimary);
  EXPECT_EQ(codeOf(when(primary, Reconfig{ofVersion(kInt64Max)})), ErrorCode::kInvalidReplicaSetConfig);
  const ReplicaSetConfig highest = ofVersion(ReplicaSetConfig::kMaxChosenVersion);
  EXPECT_TRUE(
      when(memberOf(highest, "a:1", Phase::kPrimary), Reconfig{ofVersion(highest.version + 1)}).next.memory.change);
}

/// Earlier servers have stored such versions: the member lives, and says why nothing can follow.
TEST(ConfigVersions, WhereNoHigherOneIsLeftAChangeIsRefused) {
  for (const int64_t last : {ReplicaSetConfig::kMaxVersion, kInt64Max}) {
    for (const bool force : {false, true}) {
      const Outcome out =
          when(memberOf(ofVersion(last), "a:1", Phase::kPrimary), Reconfig{ofVersion(last), force, 99'999});
      EXPECT_EQ(codeOf(out), ErrorCode::kNewReplicaSetConfigurationIncompatible) << last << force;
      EXPECT_EQ(out.next.document.config->version, last);
    }
  }
}

TEST(ConfigVersions, TheClaimOfAForcedConfigFindsRoom) {
  Snapshot<Topology> primary = memberOf(ofVersion(ReplicaSetConfig::kMaxVersion - 1), "a:1", Phase::kPrimary);
  primary.document.config->term = ConfigVersion::kNoTerm;
  const Outcome out = when(primary, Reconfig{ofVersion(ReplicaSetConfig::kMaxVersion)});
  ASSERT_TRUE(out.next.memory.change);
  EXPECT_EQ(out.next.document.config->version, ReplicaSetConfig::kMaxVersion);
  EXPECT_EQ(out.next.memory.change->next.version, ReplicaSetConfig::kMaxVersion + 1);
}

}  // namespace
}  // namespace troupe::replication::test
