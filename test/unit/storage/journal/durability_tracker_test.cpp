#include "storage/journal/durability_tracker.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace troupe::storage {
namespace {

using std::chrono::microseconds;

/// Notes in which order callbacks ran and with what.
struct Notes {
  std::string text;
  DurabilityTracker::Callback note(const std::string& who) {
    return [this, who](const Status& status) { text += who + (status.isOK() ? "+ " : "- "); };
  }
};

TEST(DurabilityTracker, OneFlushServesAllWhoCommittedBeforeItBegan) {
  DurabilityTracker tracker;
  Notes notes;
  const auto first = tracker.take();
  const auto second = tracker.take();
  tracker.wait(second, notes.note("b"));
  tracker.wait(first, notes.note("a"));
  EXPECT_EQ(tracker.beginFlush(), second);
  const auto late = tracker.take();
  tracker.wait(late, notes.note("late"));
  EXPECT_EQ(notes.text, "");
  tracker.endFlush(Status::OK(), microseconds(300));
  EXPECT_EQ(notes.text, "b+ a+ ");
  EXPECT_TRUE(tracker.isDurable(second));
  EXPECT_FALSE(tracker.isDurable(late));
  EXPECT_TRUE(tracker.hasWork());
  tracker.beginFlush();
  tracker.endFlush(Status::OK(), microseconds(300));
  EXPECT_EQ(notes.text, "b+ a+ late+ ");
  EXPECT_FALSE(tracker.hasWork());
}

TEST(DurabilityTracker, AWaiterForADurableTicketIsAnsweredAtOnce) {
  DurabilityTracker tracker;
  Notes notes;
  EXPECT_FALSE(tracker.wait(0, notes.note("nothing")));
  const auto ticket = tracker.take();
  tracker.beginFlush();
  tracker.endFlush(Status::OK(), microseconds(1));
  EXPECT_FALSE(tracker.wait(ticket, notes.note("done")));
  EXPECT_EQ(notes.text, "nothing+ done+ ");
}

TEST(DurabilityTracker, TheFlusherIsWokenOncePerFlush) {
  DurabilityTracker tracker;
  Notes notes;
  EXPECT_TRUE(tracker.wait(tracker.take(), notes.note("a")));
  EXPECT_FALSE(tracker.wait(tracker.take(), notes.note("b")));
  const auto covered = tracker.take();
  tracker.beginFlush();
  EXPECT_FALSE(tracker.wait(covered, notes.note("c")));  // the flush under way covers it
  EXPECT_TRUE(tracker.wait(tracker.take(), notes.note("d")));
  EXPECT_FALSE(tracker.wait(tracker.take(), notes.note("e")));
  tracker.endFlush(Status::OK(), microseconds(1));
  EXPECT_EQ(notes.text, "a+ b+ c+ ");
}

TEST(DurabilityTracker, AFailedFlushFailsItsWaitersAndMakesNothingDurable) {
  DurabilityTracker tracker;
  Notes notes;
  const auto ticket = tracker.take();
  tracker.wait(ticket, notes.note("a"));
  tracker.beginFlush();
  tracker.endFlush({ErrorCode::kOutOfDiskSpace, "full"}, microseconds(1));
  EXPECT_EQ(notes.text, "a- ");
  EXPECT_FALSE(tracker.isDurable(ticket));
  EXPECT_TRUE(tracker.hasWork());
  EXPECT_EQ(tracker.statistics().failedFlushes, 1);
}

TEST(DurabilityTracker, ClosingAnswersEveryoneIncludingLaterOnes) {
  DurabilityTracker tracker;
  Notes notes;
  tracker.wait(tracker.take(), notes.note("a"));
  tracker.close({ErrorCode::kShutdownInProgress, "bye"});
  EXPECT_FALSE(tracker.wait(tracker.take(), notes.note("b")));
  EXPECT_EQ(notes.text, "a- b- ");
  EXPECT_EQ(tracker.waiters(), 0u);
}

TEST(DurabilityTracker, ACallbackMayWaitAgain) {
  DurabilityTracker tracker;
  Notes notes;
  tracker.wait(tracker.take(), [&](const Status&) { tracker.wait(tracker.take(), notes.note("again")); });
  tracker.beginFlush();
  tracker.endFlush(Status::OK(), microseconds(1));
  EXPECT_EQ(tracker.waiters(), 1u);
}

TEST(DurabilityTracker, OnlyOneFlushAtATime) {
  DurabilityTracker tracker;
  EXPECT_THROW(tracker.endFlush(Status::OK(), microseconds(1)), std::logic_error);
  tracker.beginFlush();
  EXPECT_THROW(tracker.beginFlush(), std::logic_error);
}

TEST(DurabilityTracker, StatisticsShowGroupsAndDurations) {
  DurabilityTracker tracker;
  Notes notes;
  for (int i = 0; i < 5; ++i) tracker.wait(tracker.take(), notes.note("x"));
  tracker.take();
  tracker.beginFlush();
  tracker.endFlush(Status::OK(), microseconds(100));
  tracker.beginFlush();
  tracker.endFlush(Status::OK(), microseconds(9'000'000));
  const auto statistics = tracker.statistics();
  EXPECT_EQ(statistics.flushes, 2);
  EXPECT_EQ(statistics.waitersCompleted, 5);
  EXPECT_EQ(statistics.largestGroup, 5);
  EXPECT_EQ(statistics.commitsFlushed, 6);
  EXPECT_EQ(statistics.totalMicros, 9'000'100);
  EXPECT_EQ(statistics.durations.front(), 1);
  EXPECT_EQ(statistics.durations.back(), 1);
}

TEST(DurabilityTracker, AnExpectedFlushIsAskedForByOne) {
  DurabilityTracker tracker;
  tracker.take();
  EXPECT_FALSE(tracker.claimWake()) << "nobody is in a hurry";
  tracker.expectFlush();
  EXPECT_FALSE(tracker.isWakeRequested());
  EXPECT_TRUE(tracker.claimWake());
  EXPECT_TRUE(tracker.isWakeRequested());
  tracker.expectFlush();
  EXPECT_FALSE(tracker.claimWake()) << "the flusher has been woken";
  tracker.beginFlush();
  EXPECT_FALSE(tracker.isWakeRequested());
  tracker.endFlush(Status::OK(), microseconds(1));
  tracker.expectFlush();
  EXPECT_FALSE(tracker.claimWake()) << "all is durable";
}

/// A flush that covers all of it is under way: nobody has to wake the flusher for it, and the next one has to.
TEST(DurabilityTracker, AnExpectedFlushThatIsUnderWayIsNotAskedFor) {
  DurabilityTracker tracker;
  tracker.take();
  tracker.beginFlush();
  tracker.expectFlush();
  EXPECT_FALSE(tracker.claimWake());
  tracker.take();
  tracker.expectFlush();
  EXPECT_TRUE(tracker.claimWake()) << "another commit came";
  tracker.endFlush(Status::OK(), microseconds(1));
  tracker.beginFlush();
  tracker.endFlush(Status::OK(), microseconds(1));
  EXPECT_TRUE(tracker.wait(tracker.take(), [](const Status&) {}));
}

/// A write that waits for its own flush does not wait until a burst is gathered.
TEST(DurabilityTracker, AWaiterWakesTheFlusherWhoeverExpectsAFlush) {
  DurabilityTracker tracker;
  tracker.take();
  tracker.expectFlush();
  EXPECT_TRUE(tracker.wait(tracker.take(), [](const Status&) {}));
}

TEST(DurabilityTracker, ManyWritersAndOneFlusherLoseNobody) {
  DurabilityTracker tracker;
  std::atomic<int> answered{0};
  constexpr int kWriters = 4;
  constexpr int kEach = 2000;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        tracker.wait(tracker.take(), [&](const Status& status) { answered += status.isOK() ? 1 : 0; });
      }
    });
  }
  while (answered < kWriters * kEach) {
    tracker.beginFlush();
    tracker.endFlush(Status::OK(), microseconds(1));
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(tracker.durable(), static_cast<DurabilityTicket>(kWriters * kEach));
}

TEST(FlushKind, WithoutAJournalAFlushIsACheckpoint) {
  EXPECT_EQ(flushKind(true), FlushKind::kLog);
  EXPECT_EQ(flushKind(false), FlushKind::kCheckpoint);
}

}  // namespace
}  // namespace troupe::storage
