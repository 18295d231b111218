#pragma once
#include <string>

#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

enum class SearchPath { kNot, kToo };

/// Path of another program of Troupe: in the folder of this one, and with `kToo` also on PATH. Errors: FileNotOpen.
StatusWith<std::string> findProgram(const std::string& name, SearchPath path = SearchPath::kNot);

}  // namespace troupe::supervisors
