#include "storage/engine/repair_mark.hpp"

#include <filesystem>
#include <fstream>

#include "storage/engine/data_directory.hpp"

namespace troupe::storage {

RepairMark::RepairMark(const std::string& directory) : directory_(directory), path_(directory + "/troupe.repair") {}

Status RepairMark::begin() const { return write(damaged()); }

Status RepairMark::checkNone() const {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return {};
  return {ErrorCode::kManualInterventionRequired, "a repair of the data directory " + directory_ +
                                                      " was not finished; start with --repair again, restore a "
                                                      "backup, or resync from another member"};
}

Status RepairMark::add(std::string_view part) const {
  std::set<std::string> parts = damaged();
  return parts.emplace(part).second ? write(parts) : Status::OK();
}

std::set<std::string> RepairMark::damaged() const {
  std::set<std::string> idents;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) idents.insert(line);
  return idents;
}

Status RepairMark::end() const {
  std::error_code error;
  std::filesystem::remove(path_, error);
  if (error) return systemError(error.value(), "cannot remove", path_);
  syncDirectory(directory_);
  return {};
}

Status RepairMark::write(const std::set<std::string>& idents) const {
  std::string text;
  for (const std::string& ident : idents) text.append(ident).append("\n");
  return writeDurably(path_, text);
}

}  // namespace troupe::storage
