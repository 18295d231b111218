#include "supervisors/cli/find_program.hpp"

#include <unistd.h>

#include <filesystem>

namespace troupe::supervisors {

StatusWith<std::string> findProgram(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto program = self.parent_path() / name;
  if (error || access(program.c_str(), X_OK) != 0)
    return {ErrorCode::kFileNotOpen, "there is no program " + program.string() + "; build it with: ./dev build"};
  return program.string();
}

}  // namespace troupe::supervisors
