#pragma once
#include <cstddef>
#include <optional>

#include "messaging/bson/document.hpp"
#include "messaging/bson/types.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// The update of a document as the oplog tells it (OPL-005): `{$v: 2, diff: {...}}` with what has to be done to
/// `before` to get `after`, in the form of document_difference.hpp. It names resulting values only, never an operator.
/// Nothing when the whole document would not be larger, or where the form cannot express the change: a field name that
/// occurs twice. Applied to `before` the delta gives `after`, byte for byte. Any thread; both are valid documents.
std::optional<bson::Document> delta(bson::View before, bson::View after);

/// Whether an update entry's `o` is a delta rather than the whole document.
bool isDelta(bson::View update);

/// What a delta may make of the document that it was written for.
inline constexpr size_t kMaxDeltaResult = bson::kMaxInternalDocumentSize;
/// What a replay may make of a later one: fields that it has gained since stay beside those that it has lost since,
/// until the entries come that added and removed them.
inline constexpr size_t kMaxReplayedSize = 4 * kMaxDeltaResult;

/// The document after the update. Idempotent: a second time changes nothing. The document may also be a later one, as
/// when a log is replayed from before it: a field or an element that is gone is added, at the end, a part that is now
/// of another type is left as it is; with the deltas that follow, the replay ends at the last document. Errors:
/// FailedToParse (says what is wrong with the delta), Overflow (its nesting), BSONObjectTooLarge (more than `maxSize`).
StatusWith<bson::Document> applyDelta(bson::View document, bson::View delta, size_t maxSize = kMaxDeltaResult);

}  // namespace troupe::storage
