#include "supervisors/admin/event_queue.hpp"

namespace troupe::supervisors {
namespace {

TEST(EventQueue, WritesEventsAsAnEventStream) {
  EventQueue queue(10, [] {});
  queue.push({RowChange::kPhase, "/a", "parked"}, WallTime());
  EXPECT_EQ(
      queue.take(),
      "id: 1\nevent: phase\ndata: {\"path\":\"/a\",\"detail\":\"parked\",\"at\":\"1970-01-01T00:00:00.000Z\"}\n\n");
  EXPECT_EQ(queue.take(), "");
}

TEST(EventQueue, KeepsAnEventOnOneLineWhateverItsTextHolds) {
  EventQueue queue(10, [] {});
  queue.push({RowChange::kFailed, "/a", "two\nlines\r\n\n\xff"}, WallTime());
  const std::string text = queue.take();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(EventQueue, WakesOnceUntilItIsEmptied) {
  int woken = 0;
  EventQueue queue(10, [&] { ++woken; });
  queue.push({RowChange::kStarted, "/a", ""}, WallTime());
  queue.push({RowChange::kStarted, "/b", ""}, WallTime());
  EXPECT_EQ(woken, 1);
  queue.take();
  queue.push({RowChange::kStarted, "/c", ""}, WallTime());
  EXPECT_EQ(woken, 2);
}

TEST(EventQueue, DropsTheOldestWhenFullAndSaysHowMany) {
  EventQueue queue(2, [] {});
  for (const char* path : {"/a", "/b", "/c", "/d"}) queue.push({RowChange::kStarted, path, ""}, WallTime());
  const std::string text = queue.take();
  EXPECT_TRUE(text.starts_with("event: overflow\ndata: {\"lost\":2}\n\n")) << text;
  EXPECT_EQ(text.find("\"/b\""), std::string::npos);
  EXPECT_NE(text.find("\"/d\""), std::string::npos);
  EXPECT_EQ(queue.take(), "") << "the loss is told once";
}

TEST(EventQueue, TakesNothingMoreOnceClosed) {
  int woken = 0;
  EventQueue queue(2, [&] { ++woken; });
  queue.close();
  queue.push({RowChange::kStarted, "/a", ""}, WallTime());
  EXPECT_EQ(woken, 0);
  EXPECT_EQ(queue.take(), "");
}

}  // namespace
}  // namespace troupe::supervisors
