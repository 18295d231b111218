#pragma once
#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::query {

/// Checks the specification of a stage that makes its documents itself ($collStats, $currentOp ...), which is a
/// document. Errors: UnknownField (40415), TypeMismatch and those of the stage.
Status checkSourceOptions(const bson::Element& specification);

}  // namespace troupe::query
