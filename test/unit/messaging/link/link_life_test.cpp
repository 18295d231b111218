#include "messaging/link/link_life.hpp"

#include <gtest/gtest.h>

namespace troupe::link {
namespace {

using namespace std::chrono_literals;
constexpr TimePoint kStart = TimePoint(1h);
constexpr double kMost = 0.999999;

LinkLife openLife() {
  LinkLife life{LinkTimes{}};
  (void)life.start(kStart);
  (void)life.connected(kStart);
  (void)life.authenticated(kStart);
  return life;
}

TEST(LinkLife, GoesFromConnectingThroughAuthenticatingToOpen) {
  LinkLife life{LinkTimes{}};
  EXPECT_TRUE(life.start(kStart).connect);
  EXPECT_EQ(life.phase(), Phase::kConnecting);
  (void)life.connected(kStart);
  EXPECT_EQ(life.phase(), Phase::kAuthenticating);
  const auto actions = life.authenticated(kStart);
  EXPECT_TRUE(actions.opened);
  EXPECT_TRUE(actions.beat);
  EXPECT_EQ(life.phase(), Phase::kOpen);
}

TEST(LinkLife, PausesDoubleUpToTheLongestAndBeginAnewOnceOpen) {
  LinkLife life{LinkTimes{}};
  (void)life.start(kStart);
  TimePoint now = kStart;
  std::vector<int64_t> pauses;
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(life.lost(now, "refused", kMost).lost);
    EXPECT_EQ(life.phase(), Phase::kWaiting);
    pauses.push_back(std::chrono::round<std::chrono::milliseconds>(life.due() - now).count());
    EXPECT_FALSE(life.tick(life.due() - 1ms, 0).connect);
    now = life.due();
    EXPECT_TRUE(life.tick(now, 0).connect);
  }
  EXPECT_EQ(pauses, (std::vector<int64_t>{50, 100, 200, 400, 800, 1600, 2000, 2000, 2000}));
  (void)life.connected(now);
  (void)life.authenticated(now);
  EXPECT_EQ(life.failures(), 0);
  (void)life.lost(now, "reset", kMost);
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(life.due() - now), 50ms);
}

TEST(LinkLife, ChanceSpreadsThePauseOverItsSecondHalf) {
  for (const double chance : {0.0, 0.5, kMost}) {
    LinkLife life{LinkTimes{}};
    (void)life.start(kStart);
    (void)life.lost(kStart, "refused", chance);
    EXPECT_NEAR(std::chrono::duration<double>(life.due() - kStart).count(), 0.025 + 0.025 * chance, 1e-4);
  }
}

TEST(LinkLife, GivesUpAConnectionOrHandshakeThatTakesTooLong) {
  LinkLife life{LinkTimes{}};
  (void)life.start(kStart);
  EXPECT_FALSE(life.tick(kStart + 4s, 0).lost);
  EXPECT_TRUE(life.tick(kStart + 5s, 0).lost);
  LinkLife slow{LinkTimes{}};
  (void)slow.start(kStart);
  (void)slow.connected(kStart + 4s);
  EXPECT_FALSE(slow.tick(kStart + 8s, 0).lost);
  const auto actions = slow.tick(kStart + 9s, 0);
  EXPECT_TRUE(actions.lost);
  EXPECT_EQ(actions.counted, Rejection::kSlow);
}

TEST(LinkLife, BeatsEverySecondAndIsLostWhenTheOtherSideFallsSilent) {
  LinkLife life = openLife();
  TimePoint now = kStart;
  for (int i = 1; i <= 20; ++i) {
    now = kStart + i * 1s;
    life.heard(now);
    EXPECT_TRUE(life.tick(now, 0).beat) << i;
  }
  LinkLife::Actions actions;
  int beats = 0;
  while (!actions.lost) {
    now = life.due();
    actions = life.tick(now, 0);
    beats += actions.beat;
  }
  EXPECT_EQ(now, kStart + 30s);
  EXPECT_EQ(actions.counted, Rejection::kSilent);
  EXPECT_EQ(beats, 9);
}

TEST(LinkLife, ASignOfLifeEndsThePauseAndNothingElse) {
  LinkLife life = openLife();
  EXPECT_FALSE(life.peerLives(kStart).connect);
  (void)life.lost(kStart, "reset", 0);
  EXPECT_TRUE(life.peerLives(kStart).connect);
  EXPECT_FALSE(life.peerLives(kStart).connect);
}

TEST(LinkLife, WhatComesLateChangesNothing) {
  LinkLife life = openLife();
  (void)life.lost(kStart, "reset", 0);
  EXPECT_FALSE(life.lost(kStart, "again", 0).lost);
  (void)life.connected(kStart);
  EXPECT_FALSE(life.authenticated(kStart).opened);
  EXPECT_EQ(life.phase(), Phase::kWaiting);
}

}  // namespace
}  // namespace troupe::link
