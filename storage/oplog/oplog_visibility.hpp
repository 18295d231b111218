#pragma once
#include "messaging/bson/types.hpp"
#include "storage/engine/watermark.hpp"

namespace troupe::storage {

/// Up to which time forward readers of the oplog may read: every entry up to it has been committed or will never be
/// (TRN-008). The slot reserver advances it on a primary, the applier on a secondary, since they know the holes; a
/// rollback resets it when it has cut the entries behind it off. Readers that tail the oplog wait here. Any thread.
using OplogVisibility = Watermark<bson::Timestamp>;

}  // namespace troupe::storage
