#include "supervisors/cli/find_program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace troupe::supervisors {

namespace {

std::string findOnPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string program = folder + "/" + name;
    if (!folder.empty() && access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

}  // namespace

StatusWith<std::string> findProgram(const std::string& name, SearchPath path) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path() / name;
  if (!error && access(program.c_str(), X_OK) == 0) return program.string();
  if (path == SearchPath::kToo)
    if (auto found = findOnPath(name); !found.empty()) return found;
  return {ErrorCode::kFileNotOpen, "there is no program " + program.string() +
                                       (path == SearchPath::kToo ? ", nor one on PATH" : "") +
                                       "; build it with: ./dev build"};
}

}  // namespace troupe::supervisors
