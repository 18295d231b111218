#include "package_index.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <unordered_set>

#include "supervisors/cli/control_file.hpp"

namespace troupe::demo {

using namespace supervisors;  // NOLINT: the example is made of the command line's parts
namespace {

namespace fs = std::filesystem;

constexpr const char* kAptHelper = "/usr/lib/apt/apt-helper";

bool isPackageList(const std::string& name) {
  const auto at = name.rfind("_Packages");
  return at != std::string::npos && (at + 9 == name.size() || name[at + 9] == '.');
}

bool isCompressed(const std::string& path) {
  return fs::path(path).extension() != "" && path.find("_Packages.") != std::string::npos;
}

/// Suites that correct others come before them.
int rank(const std::string& path) {
  return path.find("-security") != std::string::npos ? 0 : path.find("-updates") != std::string::npos ? 1 : 2;
}

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
struct ClosePipe {
  void operator()(FILE* file) const { pclose(file); }
};
struct FreeLine {
  void operator()(char* line) const { std::free(line); }
};

/// Splits `file` into paragraphs and hands on those that were not seen before.
class Reading {
 public:
  explicit Reading(const PackageSink& sink) : sink_(sink) {}

  Status readAll(FILE* file) {
    ParagraphReader paragraphs;
    char* line = nullptr;
    size_t room = 0;
    ssize_t size = 0;
    Status status;
    while (status.isOK() && (size = getline(&line, &room, file)) > 0) {
      bytes_ += size;
      if (const auto paragraph = paragraphs.line({line, static_cast<size_t>(line[size - 1] == '\n' ? size - 1 : size)}))
        status = take(*paragraph);
    }
    const std::unique_ptr<char, FreeLine> owned(line);
    if (!status.isOK()) return status;
    const auto last = paragraphs.end();
    return last ? take(*last) : Status::OK();
  }

 private:
  Status take(const Paragraph& paragraph) {
    const auto package = packageDocument(paragraph);
    if (!package || !seen_.insert(std::string((*package)["_id"].asString())).second) return {};
    return sink_(*package, bytes_);
  }

  const PackageSink& sink_;
  std::unordered_set<std::string> seen_;
  int64_t bytes_ = 0;
};

/// A path as one word of a shell command.
std::string quoted(const std::string& path) {
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Status readFile(const std::string& path, Reading& reading) {
  if (isCompressed(path)) {
    // apt knows every compression that its lists may have.
    const std::unique_ptr<FILE, ClosePipe> pipe(
        popen((std::string(kAptHelper) + " cat-file " + quoted(path)).c_str(), "re"));
    if (!pipe) return {ErrorCode::kFileNotOpen, "cannot run " + std::string(kAptHelper)};
    return reading.readAll(pipe.get());
  }
  const std::unique_ptr<FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (!file) return {ErrorCode::kFileNotOpen, "cannot open " + path};
  return reading.readAll(file.get());
}

}  // namespace

StatusWith<PackageIndex> findPackageIndex(const std::string& root) {
  PackageIndex index;
  std::error_code error;
  const bool helper = fs::exists(kAptHelper, error);
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "var/lib/apt/lists", error)) {
    const std::string path = entry.path().string();
    if (!isPackageList(path) || (isCompressed(path) && !helper)) continue;
    const auto size = static_cast<int64_t>(entry.file_size(error));
    if (error || size == 0) continue;
    index.files.push_back(path);
    // Lists shrink to about three eighths by lz4.
    index.bytes += isCompressed(path) ? size * 8 / 3 : size;
  }
  if (index.files.empty()) {
    const fs::path status = fs::path(root) / "var/lib/dpkg/status";
    const auto size = fs::file_size(status, error);
    if (error || size == 0)
      return {ErrorCode::kFileNotOpen,
              "this machine has neither apt's package lists (run: apt-get update) nor a dpkg status file"};
    return PackageIndex{{status.string()}, true, static_cast<int64_t>(size)};
  }
  std::sort(index.files.begin(), index.files.end(),
            [](const auto& a, const auto& b) { return std::pair(rank(a), a) < std::pair(rank(b), b); });
  return index;
}

Status readPackages(const PackageIndex& index, const PackageSink& sink) {
  Reading reading(sink);
  for (const auto& path : index.files) TROUPE_TRY(readFile(path, reading).withContext(path));
  return {};
}

}  // namespace troupe::demo
