#include "actors/server/message_memory.hpp"

#include <gtest/gtest.h>

namespace troupe::server {
namespace {

constexpr int64_t kMegabyte = 1024 * 1024;

class MessageMemoryTest : public ::testing::Test {
 protected:
  MessageMemoryTest() {
    parameters.preAuthMessageMemoryMB = 2;
    parameters.partialMessageMemoryMB = 64;
  }
  Parameters parameters;
  MessageMemory memory{parameters};
};

TEST_F(MessageMemoryTest, UnknownClientsShareOneBound) {
  MessageMemory::Share first(memory), second(memory), third(memory);
  EXPECT_TRUE(first.resize(kMegabyte, false).isOK());
  EXPECT_TRUE(second.resize(kMegabyte, false).isOK());
  EXPECT_EQ(third.resize(kMegabyte, false), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(memory.unknownBytes(), 2 * kMegabyte) << "what is refused is not counted";
  EXPECT_EQ(memory.refusals(), 1);
  EXPECT_TRUE(third.resize(kMegabyte, true).isOK()) << "clients that are known have a bound of their own";
}

TEST_F(MessageMemoryTest, MemoryComesBackWhenAMessageIsWholeOrItsConnectionEnds) {
  {
    MessageMemory::Share ends(memory), goesOn(memory);
    EXPECT_TRUE(ends.resize(kMegabyte, false).isOK());
    EXPECT_TRUE(goesOn.resize(kMegabyte, false).isOK());
    EXPECT_TRUE(goesOn.resize(0, false).isOK());
    EXPECT_EQ(memory.unknownBytes(), kMegabyte);
  }
  EXPECT_EQ(memory.unknownBytes(), 0);
  EXPECT_EQ(memory.bytes(), 0);
}

TEST_F(MessageMemoryTest, AClientThatAuthenticatesLeavesTheSmallBound) {
  MessageMemory::Share share(memory);
  EXPECT_TRUE(share.resize(kMegabyte, false).isOK());
  EXPECT_TRUE(share.resize(3 * kMegabyte, true).isOK());
  EXPECT_EQ(memory.unknownBytes(), 0);
  EXPECT_EQ(memory.bytes(), 3 * kMegabyte);
}

TEST_F(MessageMemoryTest, AllClientsShareTheLargeBound) {
  MessageMemory::Share first(memory), second(memory);
  EXPECT_TRUE(first.resize(40 * kMegabyte, true).isOK());
  EXPECT_EQ(second.resize(40 * kMegabyte, true), ErrorCode::kExceededMemoryLimit);
  EXPECT_EQ(memory.bytes(), 40 * kMegabyte);
}

}  // namespace
}  // namespace troupe::server
