#include "package_index.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "iso_codes.hpp"

namespace troupe::demo {
namespace {

namespace fs = std::filesystem;

class PackageIndexTest : public testing::Test {
 protected:
  PackageIndexTest() : root_(fs::path(testing::TempDir()) / "package_index_test") { fs::remove_all(root_); }
  ~PackageIndexTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::vector<std::string> versions() {
    std::vector<std::string> result;
    const auto index = findPackageIndex(root_.string());
    EXPECT_TRUE(index.isOK());
    EXPECT_TRUE(readPackages(*index, [&](const bson::Document& package, int64_t) {
                  result.push_back(std::string(package["_id"].asString()) + "=" +
                                   std::string(package["version"].asString()));
                  return Status::OK();
                }).isOK());
    return result;
  }
  fs::path root_;
};

TEST_F(PackageIndexTest, ReadsCorrectedVersionsInsteadOfTheFirstRelease) {
  write("var/lib/apt/lists/x_dists_stable_main_binary-amd64_Packages",
        "Package: a\nVersion: 1\nArchitecture: all\n\nPackage: b\nVersion: 1\nArchitecture: all\n");
  write("var/lib/apt/lists/x_dists_stable-security_main_binary-amd64_Packages",
        "Package: a\nVersion: 2\nArchitecture: all\n");
  write("var/lib/apt/lists/x_dists_stable_InRelease", "Package: c\nVersion: 1\n");
  EXPECT_EQ(versions(), (std::vector<std::string>{"a:all=2", "b:all=1"}));
}

TEST_F(PackageIndexTest, FallsBackToWhatIsInstalled) {
  write("var/lib/dpkg/status",
        "Package: a\nVersion: 1\nArchitecture: all\nStatus: install ok installed\n\nPackage: b\nVersion: 1\nStatus: "
        "deinstall ok config-files\n");
  EXPECT_TRUE(findPackageIndex(root_.string())->installedOnly);
  EXPECT_EQ(versions(), (std::vector<std::string>{"a:all=1"}));
}

TEST_F(PackageIndexTest, SaysSoWhenTheMachineKnowsNoPackages) {
  EXPECT_EQ(findPackageIndex(root_.string()).status(), ErrorCode::kFileNotOpen);
}

TEST_F(PackageIndexTest, ReadsListsOfCodes) {
  write("iso_3166-2.json", R"({"3166-2": [{"code": "DE-BY", "name": "Bayern"}, {"name": "no code"}]})");
  const auto& lists = isoLists();
  const auto parts = readIsoList(lists[1], root_.string());
  ASSERT_TRUE(parts.isOK()) << parts.status().toString();
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_EQ(parts->front(), bson::doc("_id", "DE-BY", "code", "DE-BY", "name", "Bayern", "country", "DE"));
  EXPECT_EQ(readIsoList(lists[0], root_.string()).status(), ErrorCode::kFileNotOpen);
  write("iso_3166-1.json", "{");
  EXPECT_EQ(readIsoList(lists[0], root_.string()).status(), ErrorCode::kFailedToParse);
}

}  // namespace
}  // namespace troupe::demo
