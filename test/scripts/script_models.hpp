#pragma once
#include <string>
#include <vector>

#include "test/model/model.hpp"

namespace troupe::model {

/// The models that the scripts name: "elections" (three members), "arbiter" (two and an arbiter), "lease",
/// "fetching", "initial-sync" and "rollback" (of n1). Anything may get lost, doubled or crash, as often as the script
/// says.
Model scriptModel(const std::string& name);
/// The scripts beside this file, by their paths from the root of the project, which is the working directory.
std::vector<std::string> scriptFiles();
std::string contentsOf(const std::string& path);

}  // namespace troupe::model
