#include "actors/server/connection_gate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace troupe::server {
namespace {

using namespace std::chrono_literals;

const TimePoint kBegin = TimePoint() + 1h;

TEST(ConnectionGate, ClientsGetThePlacesBelowTheLimit) {
  ConnectionGate gate(2);
  auto first = gate.enter();
  const auto second = gate.enter();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first.isForLink() || second.isForLink());
  EXPECT_TRUE(gate.enter().isForLink()) << "beyond the limit only links are served";
  first = {};
  EXPECT_FALSE(gate.enter().isForLink());
}

TEST(ConnectionGate, RoomForLinksIsBoundedToo) {
  ConnectionGate gate(0);
  std::vector<ConnectionGate::Place> places;
  for (int64_t i = 0; i < ConnectionGate::kLinkRoom; ++i) places.push_back(gate.enter());
  EXPECT_TRUE(places.back());
  EXPECT_FALSE(gate.enter());
  EXPECT_EQ(gate.open(), ConnectionGate::kLinkRoom);
  places.clear();
  EXPECT_EQ(gate.open(), 0);
}

TEST(ConnectionGate, APlaceMovesAndMayOutliveTheGate) {
  ConnectionGate::Place kept;
  {
    ConnectionGate gate(1);
    auto place = gate.enter();
    kept = std::move(place);
    EXPECT_FALSE(place);  // NOLINT(bugprone-use-after-move): a moved-from place is empty
    EXPECT_EQ(gate.open(), 1);
  }
  EXPECT_TRUE(kept);
}

TEST(ConnectionGate, OneAddressIsSlowedDownAndOthersAreNot) {
  ConnectionGate gate(100);
  int admitted = 0;
  for (int i = 0; i < 1000; ++i) admitted += gate.isInTime("10.0.0.9:" + std::to_string(i), kBegin, 10);
  EXPECT_EQ(admitted, 40) << "four seconds' worth";
  EXPECT_TRUE(gate.isInTime("10.0.0.8:1", kBegin, 10));
  EXPECT_TRUE(gate.isInTime("10.0.0.9:1", kBegin + 100ms, 10));
  EXPECT_TRUE(gate.isInTime("10.0.0.9:1", kBegin + 100ms, 0)) << "no limit";
}

TEST(ConnectionGate, AcceptsPauseSoThatAllTogetherKeepToTheRate) {
  ConnectionGate gate(100);
  Duration longest = Duration::zero();
  for (int i = 0; i < 200; ++i) longest = std::max(longest, gate.pauseBeforeNext(kBegin, 100));
  EXPECT_NEAR(std::chrono::duration<double>(longest).count(), 1.0, 0.001) << "a hundred at once, a hundred in a second";
  EXPECT_EQ(gate.pauseBeforeNext(kBegin, 0), Duration::zero());
}

TEST(ConnectionGate, CountsRefusalsByTheirReason) {
  ConnectionGate gate(1);
  gate.refused(ConnectionRefusal::kTooFast);
  gate.refused(ConnectionRefusal::kTooFast);
  gate.refused(ConnectionRefusal::kSilent);
  EXPECT_EQ(gate.refusals(ConnectionRefusal::kTooFast), 2);
  EXPECT_EQ(gate.refusals(ConnectionRefusal::kTooMany), 0);
  EXPECT_EQ(gate.refusals(), 3);
}

}  // namespace
}  // namespace troupe::server
