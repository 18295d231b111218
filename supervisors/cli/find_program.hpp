#pragma once
#include <string>

#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// Path of another program of Troupe: in the folder of this one. Errors: FileNotOpen.
StatusWith<std::string> findProgram(const std::string& name);

}  // namespace troupe::supervisors
