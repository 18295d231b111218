#pragma once
#include "messaging/errors/status.hpp"

namespace troupe::machines {

/// Whether an ask failed on its way, and not by the receiver's decision: it is asked again, and the machine hears
/// nothing of it (`Refused`). Host and model checker decide alike.
bool isFailureOfTheWay(const Status& status);

}  // namespace troupe::machines
