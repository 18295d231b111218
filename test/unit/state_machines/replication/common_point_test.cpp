#include "state_machines/replication/common_point.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace troupe::replication {
namespace {

using Log = std::vector<OpTime>;  // oldest first, as one reads it

OpTime at(int64_t term, uint32_t seconds) { return {term, {seconds, 1}}; }

struct Searched {
  std::optional<OpTime> found;
  int64_t undone = 0;
  size_t localRead = 0, remoteRead = 0;
};

Searched search(const Log& local, const Log& remote) {
  CommonPointSearch search;
  Searched done;
  const auto next = [](const Log& log, size_t& read) {
    return read < log.size() ? std::optional(log[log.size() - ++read]) : std::nullopt;
  };
  while (search.wants() != CommonPointSearch::Wants::kNothing) {
    if (search.wants() == CommonPointSearch::Wants::kLocal) search.local(next(local, done.localRead));
    else search.remote(next(remote, done.remoteRead));
  }
  done.found = search.found();
  done.undone = search.undone();
  return done;
}

// RBK-004
TEST(CommonPoint, IsTheNewestEntryOfBothLogs) {
  const auto done = search({at(1, 1), at(1, 2), at(1, 3), at(1, 4)}, {at(1, 1), at(1, 2), at(2, 5), at(2, 6)});
  EXPECT_EQ(done.found, at(1, 2));
  EXPECT_EQ(done.undone, 2);
}

TEST(CommonPoint, IsTheOwnEndWhereTheOtherIsOnlyAhead) {
  const auto done = search({at(1, 1), at(1, 2)}, {at(1, 1), at(1, 2), at(1, 3)});
  EXPECT_EQ(done.found, at(1, 2));
  EXPECT_EQ(done.undone, 0);
}

TEST(CommonPoint, IsTheOthersEndWhereTheOtherIsOnlyBehind) {
  const auto done = search({at(1, 1), at(1, 2), at(1, 3)}, {at(1, 1), at(1, 2)});
  EXPECT_EQ(done.found, at(1, 2));
  EXPECT_EQ(done.undone, 1);
}

TEST(CommonPoint, OfOneTimeAndTwoTermsThereAreTwoEntries) {
  const auto done = search({at(1, 1), at(1, 2), at(1, 3)}, {at(1, 1), at(2, 2), at(2, 3)});
  EXPECT_EQ(done.found, at(1, 1));
  EXPECT_EQ(done.undone, 2);
}

TEST(CommonPoint, AnEarlierTermMayHaveTheLaterTimes) {
  const auto done = search({at(1, 1), at(1, 8), at(1, 9)}, {at(1, 1), at(2, 3), at(2, 4)});
  EXPECT_EQ(done.found, at(1, 1));
  EXPECT_EQ(done.undone, 2);
}

TEST(CommonPoint, LogsThatBeginBehindEachOtherHaveNone) {
  EXPECT_FALSE(search({at(1, 1), at(1, 2)}, {at(2, 3), at(2, 4)}).found);
  EXPECT_FALSE(search({at(2, 3)}, {at(1, 1), at(1, 2)}).found);
  EXPECT_FALSE(search({}, {at(1, 1)}).found);
  EXPECT_FALSE(search({at(1, 1)}, {}).found);
  EXPECT_FALSE(search({}, {}).found);
}

// Both logs may be very long: nothing behind the common point is asked for.
TEST(CommonPoint, ReadsNoFurtherThanItMust) {
  Log local, remote;
  for (uint32_t i = 1; i <= 100; ++i) local.push_back(at(1, i));
  remote = local;
  local.push_back(at(1, 101));
  remote.push_back(at(2, 102));
  const auto done = search(local, remote);
  EXPECT_EQ(done.found, at(1, 100));
  EXPECT_EQ(done.localRead, 2u);
  EXPECT_EQ(done.remoteRead, 2u);
}

}  // namespace
}  // namespace troupe::replication
