#include "storage/locks/lock_mode.hpp"

#include <gtest/gtest.h>

#include "storage/locks/lock_word.hpp"

namespace troupe::storage {
namespace {

using enum LockMode;

TEST(LockMode, FollowsTheMatrix) {
  constexpr bool Y = true, N = false;
  constexpr bool matrix[4][4] = {{Y, Y, Y, N}, {Y, Y, N, N}, {Y, N, Y, N}, {N, N, N, N}};  // IS, IX, S, X
  for (size_t a = 0; a < 4; ++a) {
    for (size_t b = 0; b < 4; ++b) {
      EXPECT_EQ(compatible(kHeldModes[a], kHeldModes[b]), matrix[a][b])
          << nameOf(kHeldModes[a]) << nameOf(kHeldModes[b]);
      LockWord word;
      ASSERT_TRUE(word.tryGrant(kHeldModes[a]));
      EXPECT_EQ(word.tryGrant(kHeldModes[b]), matrix[a][b]) << "as held in a word";
    }
  }
}

TEST(LockMode, ACombinationIsTheWeakestModeThatCoversBoth) {
  for (const LockMode a : kHeldModes) {
    for (const LockMode b : kHeldModes) {
      const LockMode both = combined(a, b);
      EXPECT_TRUE(covers(both, a) && covers(both, b));
      for (const LockMode other : kHeldModes) {
        EXPECT_TRUE(!covers(other, a) || !covers(other, b) || covers(other, both));
      }
    }
  }
  EXPECT_EQ(combined(kIX, kS), kX);
}

TEST(LockMode, WhatCoversAModeExcludesAllThatItExcludes) {
  for (const LockMode held : kHeldModes) {
    for (const LockMode wanted : kHeldModes) {
      if (!covers(held, wanted)) continue;
      for (const LockMode other : kHeldModes)
        EXPECT_LE(compatible(held, other), compatible(wanted, other)) << nameOf(held) << nameOf(wanted);
    }
  }
}

TEST(LockWord, AMarkedWordChangesOnlyUnderTheMutex) {
  LockWord word;
  ASSERT_TRUE(word.tryGrant(kIX));
  word.markQueued();
  EXPECT_FALSE(word.tryGrant(kIX));
  EXPECT_FALSE(word.tryRelease(kIX));
  EXPECT_FALSE(word.tryConvert(kIX, kX));
  EXPECT_TRUE(word.grantLocked(kIX, kX));
  word.releaseLocked(kX);
  word.clearQueued();
  EXPECT_TRUE(word.isIdle());
}

}  // namespace
}  // namespace troupe::storage
