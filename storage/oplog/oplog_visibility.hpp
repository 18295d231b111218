#pragma once
#include "messaging/bson/types.hpp"
#include "storage/engine/watermark.hpp"

namespace troupe::storage {

/// Up to which time forward readers of the oplog may read: every entry up to it has been committed or will never be
/// (TRN-008). Advanced by those who know the holes: the slot reserver on a primary, the applier on a secondary; reset
/// after a rollback, when the entries behind it have been cut off. Those who tail the oplog wait here. Any thread.
using OplogVisibility = Watermark<bson::Timestamp>;

}  // namespace troupe::storage
