#pragma once
#include <cstddef>

#include "storage/sessions/retry_image.hpp"

namespace troupe::storage {

/// What decides on the images of an update or a removal: the document as it is before, and after.
struct ImageNeeds {
  bool removes = false;
  bool records = false;                  ///< the collection records the document before each change (SES-025)
  RetryImage retry = RetryImage::kNone;  ///< what the findAndModify of a numbered session answers with
  bool aside = true;                     ///< for a retry: kept in config.image_collection (SES-021), not in the log
};

/// Where the images of a write are kept, and how many times of the log it takes for that. A plain value.
struct ImagePlan {
  size_t slots = 1;                      ///< consecutive times; the write's own entry has the last of them
  size_t before = 0;                     ///< the document before is a note so many times ahead of that entry; 0: none
  size_t after = 0;                      ///< likewise the document after
  RetryImage aside = RetryImage::kNone;  ///< kept in config.image_collection
  bool operator==(const ImagePlan&) const = default;
};

/// The decision (SES-020 to SES-025). A retry is answered from the recorded document where that is the one it needs.
/// Beside an image that is kept aside one time stays free, for the note that it becomes where the session's history is
/// copied to another shard; a removal whose document is recorded needs none.
constexpr ImagePlan planImages(const ImageNeeds& needs) {
  const bool retries = needs.retry != RetryImage::kNone;
  const bool isRecorded = needs.records && needs.retry == RetryImage::kBefore;
  const bool logsAfter = !needs.aside && needs.retry == RetryImage::kAfter;
  const bool logsBefore = needs.records || (!needs.aside && needs.retry == RetryImage::kBefore);
  const bool leavesFree = needs.aside && retries && !(needs.removes && needs.records);
  const size_t between = logsAfter || leavesFree ? 1 : 0;
  ImagePlan plan;
  plan.slots = 1 + between + (logsBefore ? 1 : 0);
  plan.before = logsBefore ? 1 + between : 0;
  plan.after = logsAfter ? 1 : 0;
  if (needs.aside && !isRecorded) plan.aside = needs.retry;
  return plan;
}

}  // namespace troupe::storage
