#include "actors/server/message_memory.hpp"

#include <gtest/gtest.h>

namespace troupe::server {
namespace {

constexpr int64_t kMegabyte = 1024 * 1024;

class MessageMemoryTest : public ::testing::Test {
 protected:
  MessageMemoryTest() {
    parameters.preAuthMessageMemoryMB = 4;
    parameters.partialMessageMemoryMB = 64;
  }
  Parameters parameters;
  MessageMemory memory{parameters};
};

TEST_F(MessageMemoryTest, UnknownClientsShareOneBound) {
  MessageMemory::Share first(memory), second(memory), third(memory);
  EXPECT_TRUE(first.resize(2 * kMegabyte, false, {"a", "a"}).isOK());
  EXPECT_TRUE(second.resize(kMegabyte, false, {"b", "b"}).isOK());
  EXPECT_EQ(third.resize(2 * kMegabyte, false, {"c", "c"}), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(memory.unknownBytes(), 3 * kMegabyte) << "what is refused is not counted";
  EXPECT_EQ(memory.refusals(), 1);
  EXPECT_TRUE(third.resize(2 * kMegabyte, true, {"c", "c"}).isOK())
      << "clients that are known have a bound of their own";
}

TEST_F(MessageMemoryTest, MemoryComesBackWhenAMessageIsWholeOrItsConnectionEnds) {
  {
    MessageMemory::Share ends(memory), goesOn(memory);
    EXPECT_TRUE(ends.resize(kMegabyte, false, {"a", "a"}).isOK());
    EXPECT_TRUE(goesOn.resize(kMegabyte, false, {"a", "a"}).isOK());
    EXPECT_TRUE(goesOn.resize(0, false, {"a", "a"}).isOK());
    EXPECT_EQ(memory.unknownBytes(), kMegabyte);
  }
  EXPECT_EQ(memory.unknownBytes(), 0);
  EXPECT_EQ(memory.bytes(), 0);
}

TEST_F(MessageMemoryTest, AClientThatAuthenticatesLeavesTheSmallBound) {
  MessageMemory::Share share(memory);
  EXPECT_TRUE(share.resize(kMegabyte, false, {"10.0.0.9", "10.0.0.9"}).isOK());
  EXPECT_TRUE(share.resize(3 * kMegabyte, true, {"user", "user"}).isOK());
  EXPECT_EQ(memory.unknownBytes(), 0);
  EXPECT_EQ(memory.bytes(), 3 * kMegabyte);
}

TEST_F(MessageMemoryTest, AllClientsShareTheLargeBound) {
  MessageMemory::Share first(memory), second(memory);
  EXPECT_TRUE(first.resize(40 * kMegabyte, true, {"a", "a"}).isOK());
  EXPECT_EQ(second.resize(40 * kMegabyte, true, {"b", "b"}), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(memory.bytes(), 40 * kMegabyte);
}

TEST_F(MessageMemoryTest, OneOwnerLeavesSomeToOthers) {
  std::vector<std::unique_ptr<MessageMemory::Share>> shares;
  const auto hold = [&](const std::string& owner) {
    shares.push_back(std::make_unique<MessageMemory::Share>(memory));
    return shares.back()->resize(kMegabyte, true, {owner, owner});
  };
  int first = 0, second = 0;
  while (hold("greedy").isOK()) ++first;
  EXPECT_EQ(first, 48) << "three quarters";
  while (hold("another").isOK()) ++second;
  EXPECT_EQ(second, 12) << "three quarters of the rest";
  EXPECT_TRUE(hold("honest").isOK());
  EXPECT_EQ(hold("greedy"), ErrorCode::kExceededMemoryLimit);
}

/// What is counted goes by a digest.
TEST_F(MessageMemoryTest, ARefusalNamesItsOwnerForPeople) {
  MessageMemory::Share share(memory);
  const Status refused = share.resize(65 * kMegabyte, true, {std::string(32, '\xff'), "ann@admin"});
  EXPECT_NE(refused.reason().find("ann@admin"), std::string::npos) << refused.reason();
  EXPECT_EQ(refused.reason().find('\xff'), std::string::npos);
}

TEST_F(MessageMemoryTest, AMessageAloneMayTakeAll) {
  MessageMemory::Share share(memory);
  EXPECT_TRUE(share.resize(64 * kMegabyte, true, {"a", "a"}).isOK());
  EXPECT_EQ(share.resize(65 * kMegabyte, true, {"a", "a"}), ErrorCode::kExceededMemoryLimit);
}

}  // namespace
}  // namespace troupe::server
