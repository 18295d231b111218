#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messaging/description/description.hpp"
#include "messaging/errors/status.hpp"
#include "supervisors/cli/member_process.hpp"

namespace troupe::supervisors {

/// A member of a local replica set. Its number counts from 1, and is its `_id` in the set's config as well.
struct ClusterMember {
  int32_t id = 0;
  int32_t port = 0;
  int32_t adminPort = 0;

  /// "127.0.0.1:27017": its name in the set.
  std::string name() const { return "127.0.0.1:" + std::to_string(port); }
  bool operator==(const ClusterMember&) const = default;
};

/// What a local replica set consists of; the same from one start to the next.
struct ClusterPlan {
  std::string set;
  std::vector<ClusterMember> members;
  int64_t oplogSizeMB = 0;  ///< 0: the daemon's default
  double cacheSizeGB = 0;
  bool operator==(const ClusterPlan&) const = default;
};

/// Holds a folder for one command at a time, until it goes.
class FolderLock {
 public:
  explicit FolderLock(int fd) : fd_(fd) {}
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// The folder of a local replica set: its plan, `troupe-cluster.json`, and a folder for each member, `member1` and so
/// on, with the data directory, the log and the process id.
class ClusterFolder {
 public:
  explicit ClusterFolder(const std::string& path);

  const std::filesystem::path& path() const { return path_; }
  MemberFiles filesOf(const ClusterMember& member) const;
  /// The plan of the set that lives here; nothing where the folder is empty or not there. Errors: FileNotOpen,
  /// FailedToParse, IllegalOperation (the folder holds something else).
  StatusWith<std::optional<ClusterPlan>> read() const;
  /// Writes the plan as a whole or not at all, and makes the folders that are missing. Errors: FileNotOpen.
  Status write(const ClusterPlan& plan) const;
  /// Errors: LockBusy (another command is at work here), FileNotOpen.
  StatusWith<FolderLock> lock() const;

 private:
  std::filesystem::path path_;  ///< absolute
};

}  // namespace troupe::supervisors

TROUPE_DESCRIBE(troupe::supervisors::ClusterMember, 0, id, port, adminPort)
TROUPE_DESCRIBE(troupe::supervisors::ClusterPlan, 0, set, members, oplogSizeMB, cacheSizeGB)
