#include "supervisors/cli/cluster_folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace troupe::supervisors {
namespace {

namespace fs = std::filesystem;

class ClusterFolderTest : public ::testing::Test {
 protected:
  ClusterFolderTest() : folder_(path() + "/set") {}
  ~ClusterFolderTest() override { fs::remove_all(path_); }
  const std::string& path() {
    if (path_.empty()) {
      path_ = (fs::temp_directory_path() / "troupe-unit-XXXXXX").string();
      if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
    }
    return path_;
  }
  void writePlan(const std::string& text) const {
    fs::create_directories(folder_.path());
    std::ofstream(folder_.path() / "troupe-cluster.json") << text;
  }
  std::string refusal() const { return folder_.read().status().toString(); }

  std::string path_;
  const ClusterFolder folder_;
  const ClusterPlan plan_{
      .set = "rs0",
      .members = {{.id = 1, .port = 27017, .adminPort = 28017}, {.id = 2, .port = 27018, .adminPort = 28018}},
      .oplogSizeMB = 50,
      .cacheSizeGB = 0.25};
};

TEST_F(ClusterFolderTest, APlanIsReadAsItWasWritten) {
  ASSERT_TRUE(folder_.write(plan_).isOK());
  const auto read = folder_.read();
  ASSERT_TRUE(read.isOK()) << read.status().toString();
  EXPECT_EQ(*read, plan_);
  EXPECT_TRUE(fs::is_directory(folder_.filesOf(plan_.members[1]).data)) << "each member has its data directory";
}

TEST_F(ClusterFolderTest, WithoutAnythingThereIsNoSet) {
  EXPECT_EQ(*folder_.read(), std::nullopt) << "no folder";
  const auto lock = folder_.lock();
  EXPECT_EQ(*folder_.read(), std::nullopt) << "an empty one, but for the lock";
}

TEST_F(ClusterFolderTest, AFolderOfSomethingElseIsLeftAlone) {
  fs::create_directories(folder_.path() / "letters");
  EXPECT_EQ(folder_.read().status(), ErrorCode::kIllegalOperation);
}

TEST_F(ClusterFolderTest, ABrokenPlanIsNamedWithWhatIsWrong) {
  writePlan("{nonsense");
  EXPECT_NE(refusal().find("troupe-cluster.json"), std::string::npos) << refusal();
  writePlan(R"({"set": "rs0", "members": []})");
  EXPECT_NE(refusal().find("no members"), std::string::npos) << refusal();
  writePlan(R"({"set": "rs0", "members": [{"_id": 2, "port": 1, "adminPort": 2}]})");
  EXPECT_NE(refusal().find("not numbered from 1"), std::string::npos) << refusal();
  writePlan(R"({"set": "rs0", "members": [{"_id": 1, "port": 65536, "adminPort": 2}]})");
  EXPECT_NE(refusal().find("65536 is no port"), std::string::npos) << refusal();
}

TEST_F(ClusterFolderTest, IsHeldByOneCommandAtATime) {
  {
    const auto lock = folder_.lock();
    ASSERT_TRUE(lock.isOK());
    EXPECT_EQ(folder_.lock().status(), ErrorCode::kLockBusy);
  }
  EXPECT_TRUE(folder_.lock().isOK());
}

}  // namespace
}  // namespace troupe::supervisors
