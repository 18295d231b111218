#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "storage/query/sort/sorter.hpp"

namespace troupe::query {
namespace {

Status failure(const std::string& what) {
  const ErrorCode code = errno == ENOSPC || errno == EDQUOT ? ErrorCode::kOutOfDiskSpace : ErrorCode::kFileNotOpen;
  return {code, "a spill file of a sort: " + what + ": " + std::strerror(errno)};
}

/// Unlinked as soon as it is open, so that it vanishes with the process however that ends.
class UnlinkedFile final : public SpillFile {
 public:
  explicit UnlinkedFile(int descriptor) : descriptor_(descriptor) {}
  ~UnlinkedFile() override { ::close(descriptor_); }
  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure("cannot write");
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return Status::OK();
  }
  StatusWith<std::string> read(uint64_t offset, size_t size) override {
    std::string bytes(size, '\0');
    size_t have = 0;
    while (have < size) {
      const ssize_t n = ::pread(descriptor_, bytes.data() + have, size - have, static_cast<off_t>(offset + have));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failure("cannot read");
      if (n == 0) break;
      have += static_cast<size_t>(n);
    }
    bytes.resize(have);
    return bytes;
  }

 private:
  int descriptor_;
};

}  // namespace

SpillFileFactory spillToDirectory(std::string directory) {
  return [directory = std::move(directory)]() -> StatusWith<std::unique_ptr<SpillFile>> {
    std::error_code ignored;  // opening below tells
    std::filesystem::create_directories(directory, ignored);
    std::string path = directory + "/sort-XXXXXX";
    const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0) return failure("cannot create one in " + directory);
    ::unlink(path.c_str());
    return std::unique_ptr<SpillFile>(std::make_unique<UnlinkedFile>(descriptor));
  };
}

}  // namespace troupe::query
