#pragma once
#include <string>
#include <vector>

#include "state_machines/sessions/session_life.hpp"
#include "test/model/model.hpp"

namespace troupe::model {

/// An operation that comes to the family, once.
struct SessionUse {
  std::string child = {};  ///< empty: it works on the parent
  int64_t retryOf = sessions::kNoNumber;
  int64_t number = 1;                ///< of the parent, that it begins
  std::vector<int64_t> terms = {1};  ///< in one of which its node is primary when it begins
};

struct SessionWorld {
  std::vector<SessionUse> operations;  ///< number 1, 2 ...
  int kills = 1, edits = 1, reaps = 1;
};

/// The family of one session on the node n1. Each operation may end early, wherever it is.
Model sessionFamily(const SessionWorld& world);

/// The parent and its child of the same number, then the parent with a later one.
SessionWorld parentAndChild();
}  // namespace troupe::model
