#pragma once
#include <caf/all.hpp>
#include <map>

#include "actors/kernel/hosted_caf_actor.hpp"
#include "named_lease.hpp"
#include "supervisors/daemon/daemon.hpp"

/// An actor of CAF's own kind: counts how often each lease was asked for.
inline caf::behavior audit(caf::stateful_actor<std::map<std::string, int32_t>>* self) {
  return {[self](const std::string& lease) { return ++self->state[lease]; }};
}
