#pragma once
#include <string>
#include <vector>

#include "test/model/crash_matrix.hpp"

namespace troupe::model {

/// The crash matrix's sample of every machine of state_machines/ (and of the machines of the checker's own tests). A
/// machine that isn't here fails the suite: write a sample of it.
std::vector<Sample> allSamples();

}  // namespace troupe::model
