#pragma once
#include <string>

#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// Where another program of Troupe is: in the folder of this one. Errors: FileNotOpen.
StatusWith<std::string> findProgram(const std::string& name);

}  // namespace troupe::supervisors
