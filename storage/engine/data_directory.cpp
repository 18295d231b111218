#include "storage/engine/data_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace troupe::storage {
namespace {

constexpr const char* kLockFile = "/troupe.lock";
constexpr const char* kFormatFile = "/troupe.format";
constexpr std::string_view kFormatKey = "formatVersion: ";

/// Closes the descriptor on all ways out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status writeVersion(const std::string& path, int version) {
  return writeDurably(path,
                      std::string("program: troupe\n") + std::string(kFormatKey) + std::to_string(version) + "\n");
}

/// The version in the format file's text; -1 when there is none.
int parseFormat(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, kFormatKey.size(), kFormatKey) != 0) continue;
    int version = -1;
    auto [end, error] = std::from_chars(line.data() + kFormatKey.size(), line.data() + line.size(), version);
    return error == std::errc() ? version : -1;
  }
  return -1;
}

std::string readPid(int fd) {
  char text[32] = {};
  const ssize_t n = ::pread(fd, text, sizeof text - 1, 0);
  std::string pid(text, n > 0 ? static_cast<size_t>(n) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid;
}

}  // namespace

Status systemError(int error, const std::string& what, const std::string& path) {
  const std::string reason = what + " " + path + ": " + std::strerror(error);
  switch (error) {
    case ENOSPC:
    case EDQUOT: return {ErrorCode::kOutOfDiskSpace, reason + "; free some space and start again"};
    case ENOENT:
    case ENOTDIR: return {ErrorCode::kNonExistentPath, reason + "; create the directory or name another"};
    case EACCES:
    case EPERM:
    case EROFS: return {ErrorCode::kUnauthorized, reason + "; give the server's user the right to write there"};
    default: return {ErrorCode::kOperationFailed, reason};
  }
}

Status writeDurably(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".new";
  Descriptor file{::open(temporary.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600)};
  if (file.fd < 0) return systemError(errno, "cannot create", temporary);
  if (::write(file.fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::fsync(file.fd) != 0) {
    return systemError(errno, "cannot write", temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return systemError(errno, "cannot rename", temporary);
  syncDirectory(std::filesystem::path(path).parent_path());
  return {};
}

void syncDirectory(const std::string& directory) {
  const Descriptor file{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (file.fd >= 0) ::fsync(file.fd);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

StatusWith<DirectoryLock> DirectoryLock::acquire(const std::string& directory) {
  const std::string path = directory + kLockFile;
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return systemError(errno, "cannot open", path);
  DirectoryLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return systemError(errno, "cannot lock", path);
    return Status(ErrorCode::kDBPathInUse, "the data directory " + directory + " is in use by process " + readPid(fd) +
                                               "; stop that process or choose another directory");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return systemError(errno, "cannot write", path);
  }
  return lock;
}

Status checkDataFormat(const std::string& directory, int version) {
  const std::string path = directory + kFormatFile;
  std::ifstream file(path);
  if (!file) {
    std::error_code ignored;
    for (const char* sign : {"/WiredTiger", "/WiredTiger.wt"}) {
      if (std::filesystem::exists(directory + sign, ignored)) {
        return {ErrorCode::kUnsupportedFormat, "the directory " + directory +
                                                   " holds the database of another program (it has no file "
                                                   "troupe.format); choose an empty directory and import the data"};
      }
    }
    return writeVersion(path, version);
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const int found = parseFormat(text);
  if (found < 1) {
    return {ErrorCode::kUnsupportedFormat, "the file " + path + " cannot be read; restore it from a backup"};
  }
  if (found > version) {
    return {ErrorCode::kUnsupportedFormat, "the data in " + directory + " has format " + std::to_string(found) +
                                               ", this version reads up to " + std::to_string(version) +
                                               "; start the newer version that wrote it"};
  }
  return found < version ? writeVersion(path, version) : Status::OK();
}

}  // namespace troupe::storage
