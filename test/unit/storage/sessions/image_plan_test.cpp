#include "storage/sessions/image_plan.hpp"

#include <gtest/gtest.h>

namespace troupe::storage {

namespace {

constexpr bool kUpdates = false, kRemoves = true, kRecords = true, kDoesNot = false, kAside = true, kInLog = false;

struct Row {
  const char* what;
  ImageNeeds needs;
  ImagePlan plan;
};

}  // namespace

/// SES-023: the times that a write takes, and what stands at them.
TEST(ImagePlan, SaysWhatStandsAtWhichTime) {
  const Row rows[] = {
      {"a plain write", {kUpdates, kDoesNot, RetryImage::kNone, kAside}, {1, 0, 0, RetryImage::kNone}},
      {"an update, after, recorded", {kUpdates, kRecords, RetryImage::kAfter, kAside}, {3, 2, 0, RetryImage::kAfter}},
      {"an update, before, recorded", {kUpdates, kRecords, RetryImage::kBefore, kAside}, {3, 2, 0, RetryImage::kNone}},
      {"an update, before", {kUpdates, kDoesNot, RetryImage::kBefore, kAside}, {2, 0, 0, RetryImage::kBefore}},
      {"an update, after", {kUpdates, kDoesNot, RetryImage::kAfter, kAside}, {2, 0, 0, RetryImage::kAfter}},
      {"a removal, recorded", {kRemoves, kRecords, RetryImage::kBefore, kAside}, {2, 1, 0, RetryImage::kNone}},
      {"a removal", {kRemoves, kDoesNot, RetryImage::kBefore, kAside}, {2, 0, 0, RetryImage::kBefore}},
      {"no retry, recorded", {kUpdates, kRecords, RetryImage::kNone, kAside}, {2, 1, 0, RetryImage::kNone}},
      {"in the log, before", {kUpdates, kDoesNot, RetryImage::kBefore, kInLog}, {2, 1, 0, RetryImage::kNone}},
      {"in the log, after", {kUpdates, kDoesNot, RetryImage::kAfter, kInLog}, {2, 0, 1, RetryImage::kNone}},
      {"in the log, removal", {kRemoves, kDoesNot, RetryImage::kBefore, kInLog}, {2, 1, 0, RetryImage::kNone}},
      {"in the log, before, recorded", {kUpdates, kRecords, RetryImage::kBefore, kInLog}, {2, 1, 0, RetryImage::kNone}},
      {"in the log, after, recorded", {kUpdates, kRecords, RetryImage::kAfter, kInLog}, {3, 2, 1, RetryImage::kNone}},
  };
  for (const Row& row : rows) EXPECT_EQ(planImages(row.needs), row.plan) << row.what;
}

/// Whatever is asked for: an image that a retry needs is somewhere, no two entries share a time, and none is ahead of
/// what was reserved.
TEST(ImagePlan, HoldsForAllNeeds) {
  for (int bits = 0; bits < 8; ++bits) {
    for (const RetryImage retry : {RetryImage::kNone, RetryImage::kBefore, RetryImage::kAfter}) {
      const ImageNeeds needs{(bits & 1) != 0, (bits & 2) != 0, retry, (bits & 4) != 0};
      if (needs.removes && retry == RetryImage::kAfter) continue;
      const ImagePlan plan = planImages(needs);
      EXPECT_LT(plan.before, plan.slots);
      EXPECT_LT(plan.after, plan.slots);
      if (plan.before > 0) EXPECT_NE(plan.before, plan.after);
      if (needs.records) EXPECT_GT(plan.before, 0u);
      const bool isKept = plan.aside == retry || (retry == RetryImage::kBefore ? plan.before : plan.after) > 0;
      EXPECT_TRUE(isKept) << bits;
    }
  }
}

}  // namespace troupe::storage
