#pragma once
#include "test/lease/lease.hpp"
#include "test/model/model.hpp"

namespace troupe::model {

/// Node a has a lease and hands it to b (coordinated by c); if `back`, b hands it to a again afterwards (coordinated by
/// d). If `declined`, b has taken part in a later hand-off before, and does not want it.
Model leaseHandoffs(bool back, bool declined = false);

}  // namespace troupe::model
