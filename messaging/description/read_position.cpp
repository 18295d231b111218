#include "messaging/description/read_position.hpp"

namespace troupe::machines {

void ReadPosition::failAnew(ErrorCode code, const std::string& what) {
  std::string where(subject_);
  for (const std::string_view part : path_) where.append(".").append(part);
  status_ = Status(code, where + ": " + what);
}

std::string ReadPosition::newerText(const StructType& type, uint64_t version) {
  return std::string(type.subject) + " of version " + std::to_string(version) + ", newer than version " +
         std::to_string(type.version) + ", the newest that this node knows";
}

}  // namespace troupe::machines
