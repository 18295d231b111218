#include "storage/operation/background_gate.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace troupe::storage {
namespace {

TEST(BackgroundGate, LetsWorkPassWhileItIsOpen) {
  BackgroundGate gate;
  EXPECT_TRUE(gate.enter());
  int empty = 0;
  gate.close([&] { ++empty; });
  EXPECT_EQ(empty, 1) << "nobody was inside";
  EXPECT_FALSE(gate.enter());
  EXPECT_FALSE(gate.isOpen());
  gate.open();
  EXPECT_TRUE(gate.enter());
}

TEST(BackgroundGate, ClosingWaitsForWorkThatIsInside) {
  BackgroundGate gate;
  std::optional<BackgroundGate::Pass> first = gate.enter(), second = gate.enter();
  int empty = 0;
  gate.close([&] { ++empty; });
  first.reset();
  EXPECT_EQ(empty, 0);
  BackgroundGate::Pass moved = std::move(*second);
  second.reset();
  EXPECT_EQ(empty, 0);
  moved.leave();
  EXPECT_EQ(empty, 1);
  gate.open();
  gate.enter().leave();
  EXPECT_EQ(empty, 1) << "once";
}

TEST(BackgroundGate, WhereThereIsNoneAllPass) { EXPECT_TRUE(BackgroundGate::enter(nullptr)); }

}  // namespace
}  // namespace troupe::storage
