#pragma once
#include <string>
#include <utility>
#include <vector>

#include "test/model/crash_matrix.hpp"

namespace troupe::model {

/// The crash matrix's sample of every machine of state_machines/ (and of the machines of the checker's own tests). A
/// machine that isn't here fails the suite: write a sample of it.
std::vector<Sample> allSamples();

/// A model of each subject, by the name of the function that makes it: what invariants there are.
std::vector<std::pair<std::string, Model>> allSubjects();

}  // namespace troupe::model
