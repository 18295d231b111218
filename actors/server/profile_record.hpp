#pragma once
#include "actors/server/finished_operation.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::server {

/// The document of a finished operation in `system.profile`, which filters are matched against, too. Bounded: about 64
/// KiB and half as much again at most. Commands are shown as logs show them (appendShownCommand), and failures as the
/// client was told of them.
bson::Document profileRecord(const FinishedOperation& finished);

}  // namespace troupe::server
