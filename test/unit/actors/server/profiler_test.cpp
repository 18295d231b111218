#include "actors/server/profiler.hpp"

#include <gtest/gtest.h>

namespace troupe::server {
namespace {

ProfileSettingPtr all() { return std::make_shared<const ProfileSetting>(ProfileSetting{ProfileLevel::kAll, {}}); }

bool isSettled(Profiler& profiler) {
  const auto settled = std::make_shared<Promise<Done>>();
  auto future = settled->future();
  profiler.whenSettled(settled);
  return !settled->set(Done{});  // false: it was before
}

TEST(Profiler, SettingsAreThoseOfOneDatabase) {
  Profiler profiler;
  EXPECT_EQ(profiler.settingOf("a"), nullptr);
  profiler.set("a", all());
  EXPECT_TRUE(profiler.isOn("a"));
  EXPECT_FALSE(profiler.isOn("b"));
  profiler.set("a", nullptr);
  EXPECT_FALSE(profiler.isOn("a"));
}

TEST(Profiler, WakesItsKeeperForTheFirstRecordOnly) {
  Profiler profiler;
  profiler.record("a", bson::doc("n", 1));
  int woken = 0;
  profiler.keepWith([&] { ++woken; });
  EXPECT_EQ(woken, 1) << "for what waits already";
  profiler.record("a", bson::doc("n", 2));
  EXPECT_EQ(woken, 1);
  const auto taken = profiler.take(10);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[1].record["n"].toInt64(), 2);
  profiler.record("a", bson::doc("n", 3));
  EXPECT_EQ(woken, 2);
}

TEST(Profiler, DropsAndCountsWhatFindsNoRoom) {
  Profiler profiler;
  for (size_t i = 0; i < Profiler::kMostWaiting + 5; ++i) profiler.record("a", bson::doc("n", 1));
  EXPECT_EQ(profiler.dropped(), 5);
  (void)profiler.take(Profiler::kMostWaiting);
  const bson::Document large = bson::doc("text", std::string(Profiler::kMostWaitingBytes / 2, 'x'));
  for (int i = 0; i < 3; ++i) profiler.record("a", large);
  EXPECT_EQ(profiler.dropped(), 7);
}

TEST(Profiler, IsSettledOnceWhatWasRecordedIsFinished) {
  Profiler profiler;
  EXPECT_TRUE(isSettled(profiler));
  for (int i = 0; i < 3; ++i) profiler.record("a", bson::doc("n", i));
  const auto settled = std::make_shared<Promise<Done>>();
  auto future = settled->future();
  profiler.whenSettled(settled);
  (void)profiler.take(2);
  profiler.finished(2);
  EXPECT_FALSE(isSettled(profiler));
  profiler.record("a", bson::doc("n", 4));
  (void)profiler.take(1);
  profiler.finished(1);
  EXPECT_FALSE(settled->set(Done{})) << "what comes later is not waited for";
}

TEST(Profiler, ANewKeeperGivesUpWhatTheOldOneTook) {
  Profiler profiler;
  profiler.record("a", bson::doc("n", 1));
  (void)profiler.take(1);
  EXPECT_FALSE(isSettled(profiler));
  profiler.keepWith([] {});
  EXPECT_TRUE(isSettled(profiler));
}

}  // namespace
}  // namespace troupe::server
