#include "supervisors/cli/cluster_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "messaging/bson/json.hpp"
#include "messaging/description/bson_archive.hpp"

namespace troupe::supervisors {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPlanFile = "troupe-cluster.json";
constexpr const char* kLockFile = "troupe-cluster.lock";

Status notOpen(const fs::path& path, const std::string& why) {
  return {ErrorCode::kFileNotOpen, "cannot use " + path.string() + ": " + why};
}

/// A lock of a start that got no further leaves nothing to lose.
bool holdsSomething(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename() != kLockFile) return true;
  return false;
}

Status check(const ClusterPlan& plan) {
  if (plan.set.empty() || plan.members.empty()) return {ErrorCode::kFailedToParse, "it names no set or no members"};
  for (size_t i = 0; i < plan.members.size(); ++i) {
    const ClusterMember& member = plan.members[i];
    if (member.id != static_cast<int32_t>(i) + 1)
      return {ErrorCode::kFailedToParse, "its members are not numbered from 1"};
    for (const int32_t port : {member.port, member.adminPort})
      if (port < 1 || port > 65535) return {ErrorCode::kFailedToParse, std::to_string(port) + " is no port"};
  }
  return Status::OK();
}

StatusWith<ClusterPlan> parsePlan(const std::string& text) {
  TROUPE_ASSIGN(const auto document, bson::fromJson(text));
  TROUPE_ASSIGN(auto plan, machines::parseBson<ClusterPlan>(document));
  TROUPE_TRY(check(plan));
  return plan;
}

}  // namespace

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

ClusterFolder::ClusterFolder(const std::string& path) : path_(fs::absolute(path).lexically_normal()) {
  if (!path_.has_filename()) path_ = path_.parent_path();
}

MemberFiles ClusterFolder::filesOf(const ClusterMember& member) const {
  const fs::path own = path_ / ("member" + std::to_string(member.id));
  return {.data = (own / "data").string(),
          .log = (own / "trouped.log").string(),
          .errors = (own / "trouped.err").string(),
          .pid = (own / "trouped.pid").string()};
}

StatusWith<std::optional<ClusterPlan>> ClusterFolder::read() const {
  std::error_code error;
  if (!fs::exists(path_, error)) return std::optional<ClusterPlan>();
  if (!fs::is_directory(path_, error)) return notOpen(path_, "it is no folder");
  const fs::path file = path_ / kPlanFile;
  if (!fs::exists(file, error)) {
    if (!holdsSomething(path_)) return std::optional<ClusterPlan>();
    return Status(ErrorCode::kIllegalOperation, path_.string() + " holds something else than a local replica set (it " +
                                                    "has no " + kPlanFile + "); name another folder with --dir");
  }
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return notOpen(file, std::strerror(errno));
  auto plan = parsePlan(text.str());
  if (!plan.isOK()) return plan.status().withContext(file.string());
  return std::optional<ClusterPlan>(std::move(*plan));
}

Status ClusterFolder::write(const ClusterPlan& plan) const {
  std::error_code error;
  for (const ClusterMember& member : plan.members) {
    const fs::path data = filesOf(member).data;
    fs::create_directories(data, error);
    if (error) return notOpen(data, error.message());
    fs::permissions(data, fs::perms::owner_all, error);
  }
  const fs::path file = path_ / kPlanFile, next = path_ / (std::string(kPlanFile) + ".new");
  std::ofstream out(next);
  out << bson::toRelaxedJson(machines::toBson(plan)) << "\n";
  out.close();
  if (!out) return notOpen(next, std::strerror(errno));
  fs::rename(next, file, error);
  return error ? notOpen(file, error.message()) : Status::OK();
}

StatusWith<FolderLock> ClusterFolder::lock() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) return notOpen(path_, error.message());
  const fs::path file = path_ / kLockFile;
  FolderLock lock(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.fd() < 0) return notOpen(file, std::strerror(errno));
  if (flock(lock.fd(), LOCK_EX | LOCK_NB) == 0) return lock;
  return Status(ErrorCode::kLockBusy, "another `troupe cluster` is at work in " + path_.string());
}

}  // namespace troupe::supervisors
