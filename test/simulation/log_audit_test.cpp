#include "test/simulation/log_audit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "storage/oplog/oplog_entry.hpp"
#include "test/simulation/scenario_run.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {
namespace {

using Documents = std::vector<bson::Document>;
using storage::OplogKind;

const bson::Uuid kWritten = *bson::Uuid::fromString("5430849c-6922-4ecf-a535-cf1d5c804b2c");

bson::Document entryOf(OplogKind kind, const bson::Document& object, const bson::Document& other = {}) {
  storage::OplogEntry entry;
  entry.operation = {kind, "config.written", kWritten, object, {}, false};
  if (!other.empty()) entry.operation.other = other;
  entry.opTime = {1, {1656074879, 1}};
  entry.wall = {1656074879109};
  return entry.toDocument();
}

bson::Document written(int64_t id, int64_t n) { return bson::doc("_id", id, "n", n); }
bson::Document insertOf(int64_t id, int64_t n) { return entryOf(OplogKind::kInsert, written(id, n)); }
bson::Document replacementOf(int64_t id, int64_t n) {
  return entryOf(OplogKind::kUpdate, written(id, n), bson::doc("_id", id));
}
bson::Document deltaOf(int64_t id, int64_t n) {
  const bson::Document diff = bson::doc("$v", 2, "diff", bson::doc("u", bson::doc("n", n)));
  return entryOf(OplogKind::kUpdate, diff, bson::doc("_id", id));
}
bson::Document removalOf(int64_t id) { return entryOf(OplogKind::kRemove, bson::doc("_id", id)); }

std::string difference(const Documents& entries, const Documents& held) {
  return LogAudit::difference("n1", entries, held);
}

TEST(LogAudit, ALogGivesItsCollection) {
  EXPECT_EQ(difference({}, {}), "");
  EXPECT_EQ(difference({insertOf(1, 1), insertOf(2, 2), deltaOf(1, 3)}, {written(2, 2), written(1, 3)}), "");
  EXPECT_EQ(difference({insertOf(1, 1), replacementOf(1, 2), removalOf(1), insertOf(1, 4)}, {written(1, 4)}), "");
  EXPECT_EQ(difference({insertOf(1, 1), removalOf(1)}, {}), "");
}

TEST(LogAudit, AnInsertThatTheLogLacksIsFound) {
  EXPECT_EQ(difference({insertOf(1, 1)}, {written(1, 1), written(2, 2)}),
            R"(config.written: n1 has { "_id" : 2, "n" : 2 }, and n1's log has not)");
}

TEST(LogAudit, AnUpdateThatTheLogLacksIsFound) {
  const std::string lacks = R"(config.written: n1 has { "_id" : 1, "n" : 2 }, and n1's log has not)";
  EXPECT_EQ(difference({insertOf(1, 1)}, {written(1, 2)}), lacks);
  EXPECT_EQ(difference({insertOf(1, 1), deltaOf(1, 3)}, {written(1, 2)}), lacks);
  EXPECT_EQ(difference({insertOf(1, 1), replacementOf(1, 3)}, {written(1, 2)}), lacks);
}

TEST(LogAudit, ARemovalThatTheLogLacksIsFound) {
  EXPECT_EQ(difference({insertOf(1, 1)}, {}), R"(config.written: n1's log has { "_id" : 1, "n" : 1 }, and n1 has not)");
}

TEST(LogAudit, AnInsertBeforeAnUpdateThatTheLogLacksIsFound) {
  EXPECT_NE(difference({deltaOf(1, 2)}, {written(1, 2)}), "");
}

TEST(LogAudit, AnOperationThatTheCollectionLacksIsFound) {
  EXPECT_NE(difference({insertOf(1, 1), removalOf(1)}, {written(1, 1)}), "");
  EXPECT_NE(difference({insertOf(1, 1), insertOf(2, 2)}, {written(1, 1)}), "");
}

TEST(LogAudit, EntriesInAnotherOrderAreFound) {
  EXPECT_EQ(difference({insertOf(1, 1), deltaOf(1, 2), deltaOf(1, 3)}, {written(1, 3)}), "");
  EXPECT_NE(difference({insertOf(1, 1), deltaOf(1, 3), deltaOf(1, 2)}, {written(1, 3)}), "");
}

TEST(LogAudit, AnEntryThatCannotBeReadIsFound) {
  const std::string broken = difference({bson::doc("ns", "config.written")}, {});
  EXPECT_TRUE(broken.starts_with("n1's log: FailedToParse")) << broken;
}

/// What each of five seeds says of a set of three whose services write for ten seconds.
std::vector<std::string> auditsOfLogs(const std::string& fault) {
  const auto scenario = parseScenario(R"(
name = "logs"
[[workload]]
kind = "documents"
rate = 10
[liveness]
after = "10s"
converge_within = "30s"
)" + fault,
                                      "a.toml", invariantNames);
  if (!scenario.isOK()) return {scenario.status().toString()};
  std::vector<std::string> said;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    bool compared = false;
    said.push_back(runScenario(*scenario, seed, 1, nullptr, [&](const TraceEvent& e) {
                     compared |= e.actor == "audit" && e.what == "finds all well";
                   }).broken);
    EXPECT_EQ(compared, said.back().empty()) << "members are compared with each other, too";
  }
  return said;
}

TEST(LogAudit, FindsNothingWrongWithSoundMembers) {
  for (const std::string& broken : auditsOfLogs("")) EXPECT_EQ(broken, "");
}

TEST(LogAudit, FindsNothingWrongWithMembersThatWereKilled) {
  const auto said = auditsOfLogs(
      "[[fault]]\nkind = \"kill\"\nevery = \"1s..3s\"\nfor = \"100ms..500ms\"\nleave = 2\n"
      "[[workload]]\nkind = \"step-downs\"\nrate = 0.2\n");
  for (const std::string& broken : said) EXPECT_EQ(broken, "");
}

/// The document may be written again before the end: not every seed is broken.
TEST(LogAudit, FindsAnEntryThatTheLogOfOneMemberHasLost) {
  const auto said = auditsOfLogs("[[fault]]\nkind = \"lost-entry\"\nevery = \"9s..9900ms\"\n");
  EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& broken) {
    return broken.starts_with(LogAudit::kInvariant) && broken.find("log has") != std::string::npos;
  })) << said.front();
}

}  // namespace
}  // namespace troupe::sim
