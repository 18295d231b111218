#pragma once
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The exclusive use of a data directory by this process: an flock on the file `troupe.lock`, which names the owner's
/// process id. Released by the destructor, or by the system when the process dies. Move-only.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

  /// DBPathInUse (naming the owner's pid), NonExistentPath, Unauthorized, OutOfDiskSpace.
  static StatusWith<DirectoryLock> acquire(const std::string& directory);

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

/// Reads the file `troupe.format`, which holds the version of the data below the directory as "formatVersion: <n>", and
/// writes it (durably) in a fresh directory and over an older version, since what is written from now on older servers
/// cannot read. UnsupportedFormat when the version is newer than `version`, cannot be
/// read, or when the directory holds the database of another program. Requires the directory lock.
Status checkDataFormat(const std::string& directory, int version);

/// Writes a small file in place of the one there, as a whole or not at all, and durably. Errors: those of systemError.
Status writeDurably(const std::string& path, std::string_view text);
/// Makes names that were created, renamed or removed in `directory` durable.
void syncDirectory(const std::string& directory);

/// The Status of a failed system call on `path`: `what` is e.g. "cannot write".
Status systemError(int error, const std::string& what, const std::string& path);

}  // namespace troupe::storage
