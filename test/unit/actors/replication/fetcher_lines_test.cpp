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

}  // namespace
}  // namespace troupe::replication::test
