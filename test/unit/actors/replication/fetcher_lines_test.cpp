#include "test/unit/actors/replication/fetcher_fixture.hpp"

namespace troupe::replication::test {
namespace {

using ::testing::Contains;
using ::testing::Pair;

/// The line tells of the log that was found, not of a source that failed before.
TEST_F(OplogFetcherTest, SaysOfWhichLogItHasDiverged) {
  for (const char* host : {"p", "s"}) {
    auto& log = members.logs[host];
    log.entries.clear();
    log.addRange(1, 2);
    log.addRange(3, 4, 2);  // it ends at an earlier time, in a later term: found before anything is fetched
  }
  for (auto& member : known.members) member.applied = entryAt(4, 2);
  rolledBackTo = entryAt(2);
  follow();
  ASSERT_THAT(written, Contains(Pair(21280, log::Severity::kWarning)));
  EXPECT_THAT(errors[21280],
              ::testing::ContainsRegex("its log goes from .* of term 1 to .* of term 2, and this member's "
                                       "newest entry is .* of term 1"));
}

TEST_F(OplogFetcherTest, SaysForHowLongASourceIsDenied) {
  members.logs["s"].isReachable = false;
  follow();
  EXPECT_EQ(seconds[21278], 10);
  for (int i = 0; i < 4; ++i) members.logs["p"].failures.emplace_back(ErrorCode::kCursorNotFound, "killed");
  members.logs["p"].wake();
  node.run();
  EXPECT_EQ(seen.memory.denied.at("p"), Denial::kFailed);
  EXPECT_EQ(seconds[21278], 1) << "it leads";
}

/// It was given up, and another one of the same source is under way.
TEST_F(OplogFetcherTest, ALateAnswerToAProbeIsNoReasonToDenyAnother) {
  auto& log = members.logs["s"];
  log.answers = false;
  members.logs["p"].isReachable = false;
  follow();
  node.advance(3s);
  ASSERT_EQ(phase(), FetchPhase::kProbing);
  ASSERT_EQ(seen.memory.lastResort, "s");
  ASSERT_EQ(log.waiting.size(), 2u);
  log.answers = true;
  Promise<troupe::Done> first = std::move(log.waiting.front());
  log.waiting.erase(log.waiting.begin());
  first.set(troupe::Done{});
  node.run();
  log.answers = false;
  ASSERT_EQ(phase(), FetchPhase::kProbing);
  known.members[0].host = known.primary = "q";
  members.logs["q"].addRange(1, 10);
  node.tell(node.address(kFetcherPath), local(SetChanged{}));
  node.advance(5s);
  EXPECT_EQ(seen.memory.source, "q");
  EXPECT_EQ(errors[21278], "it has not answered its probe");
}

}  // namespace
}  // namespace troupe::replication::test
