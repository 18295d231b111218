#include "actors/server/hello_state.hpp"

#include <gtest/gtest.h>

namespace troupe::server {

class HelloStateTest : public ::testing::Test {
 protected:
  HelloState hello{bson::ObjectId{}};
  std::shared_ptr<Promise<Done>> waiter = std::make_shared<Promise<Done>>();
  Future<Done> woken = waiter->future();
};

TEST_F(HelloStateTest, WakesThoseWhoWaitWhenSomethingChanges) {
  hello.wakeOnChange(hello.counter(), waiter);
  EXPECT_FALSE(woken.isReady());
  hello.bump();
  EXPECT_TRUE(woken.isReady());
  EXPECT_EQ(hello.counter(), 1);
}

/// The other way round a client would hold (old role, new version), and hear of the new role at the change after that.
TEST_F(HelloStateTest, WhatIsReadIsNeverOlderThanItsCounter) {
  const auto role = hello.counted([this] {
    hello.bump();
    return "new";
  });
  EXPECT_STREQ(role.value, "new");
  EXPECT_EQ(role.counter, 0);
  EXPECT_EQ(hello.counter(), 1);
}

TEST_F(HelloStateTest, AnswersAtOnceThoseWhoKnowAnOldState) {
  hello.bump();
  hello.wakeOnChange(0, waiter);
  EXPECT_TRUE(woken.isReady());
}

TEST_F(HelloStateTest, ShutdownWakesEveryoneAndIsSeen) {
  hello.wakeOnChange(hello.counter(), waiter);
  hello.beginShutdown();
  EXPECT_TRUE(woken.isReady());
  EXPECT_TRUE(hello.shuttingDown());
}

TEST_F(HelloStateTest, NobodyWaitsDuringShutdown) {
  hello.beginShutdown();
  hello.wakeOnChange(hello.counter(), waiter);
  EXPECT_TRUE(woken.isReady());
}

TEST_F(HelloStateTest, WhoGaveUpIsNotWoken) {
  hello.wakeOnChange(hello.counter(), waiter);
  waiter.reset();
  hello.bump();
  EXPECT_FALSE(woken.isReady());
}

TEST_F(HelloStateTest, KeepsNothingOfMillionsWhoGaveUp) {
  for (int i = 0; i < 100'000; ++i) hello.wakeOnChange(hello.counter(), std::make_shared<Promise<Done>>());
  hello.wakeOnChange(hello.counter(), waiter);
  hello.bump();
  EXPECT_TRUE(woken.isReady());
}

}  // namespace troupe::server
