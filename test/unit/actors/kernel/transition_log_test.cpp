#include "actors/kernel/transition_log.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TransitionRecord move(std::string path, std::string to) {
  TransitionRecord record;
  record.path = std::move(path);
  record.machine = "errand";
  record.instance = record.path;
  record.event = "Go";
  record.from = "here";
  record.to = std::move(to);
  return record;
}
TransitionRecord noMove(std::string path, std::string event) {
  TransitionRecord record = move(std::move(path), "here");
  record.event = std::move(event);
  return record;
}
std::vector<std::string> targets(const TransitionLog& log, const TransitionFilter& filter = {}) {
  std::vector<std::string> out;
  for (const auto& record : log.find(filter)) out.push_back(record.to);
  return out;
}
using Texts = std::vector<std::string>;

TEST(TransitionLog, GivesTheNewestFirstAndNoMoreThanAsked) {
  TransitionLog log;
  for (const char* to : {"one", "two", "three"}) log.add(move("/a", to));
  EXPECT_EQ(targets(log), (Texts{"three", "two", "one"}));
  EXPECT_EQ(targets(log, {.limit = 2}), (Texts{"three", "two"}));
}

TEST(TransitionLog, FiltersByPathMachineInstanceAndMoves) {
  TransitionLog log;
  log.add(move("/a/b", "below"));
  log.add(move("/ab", "beside"));
  log.add(noMove("/a", "Heard"));
  EXPECT_EQ(targets(log, {.under = "/a"}), (Texts{"here", "below"}));
  EXPECT_EQ(targets(log, {.under = "/a", .movesOnly = true}), Texts{"below"});
  EXPECT_EQ(targets(log, {.instance = "/ab"}), Texts{"beside"});
  EXPECT_EQ(targets(log, {.machine = "other"}), Texts{});
}

TEST(TransitionLog, MessagesThatMoveNothingDisplaceNoMoves) {
  TransitionLog log;
  log.add(move("/a", "primary"));
  for (size_t i = 0; i < 10 * TransitionLog::kOthersOfAnActor; ++i) log.add(noMove("/a", "Heartbeat"));
  EXPECT_EQ(targets(log, {.movesOnly = true}), Texts{"primary"});
  EXPECT_EQ(log.find({.limit = 1000}).size(), TransitionLog::kOthersOfAnActor + 1);
}

TEST(TransitionLog, KeepsTheNewestMovesOfAnActor) {
  TransitionLog log;
  for (size_t i = 0; i < TransitionLog::kMovesOfAnActor + 5; ++i) log.add(move("/a", std::to_string(i)));
  const auto kept = targets(log, {.limit = 1000});
  EXPECT_EQ(kept.size(), TransitionLog::kMovesOfAnActor);
  EXPECT_EQ(kept.back(), "5");
}

TEST(TransitionLog, ForgetsTheActorsThatDidNothingForLongest) {
  TransitionLog log;
  log.add(move("/first", "old"));
  for (size_t i = 0; i < TransitionLog::kRecords; ++i) {
    log.add(move("/many/" + std::to_string(i), "x"));
    if (i % 1000 == 0) log.add(move("/busy", "still here"));
  }
  EXPECT_TRUE(log.find({.under = "/first"}).empty());
  EXPECT_FALSE(log.find({.under = "/busy"}).empty());
  EXPECT_LE(log.find({.limit = 2 * TransitionLog::kRecords}).size(), TransitionLog::kRecords);
}

TEST(TransitionLog, LongTextsAreCut) {
  TransitionLog log;
  TransitionRecord record = move("/a", "x");
  record.outcome = record.instance = std::string(10'000, 'x');
  record.effects = {std::string(10'000, 'y')};
  log.add(std::move(record));
  const auto kept = log.find({}).at(0);
  EXPECT_EQ(kept.outcome.size(), TransitionLog::kLongestText);
  EXPECT_EQ(kept.instance.size(), TransitionLog::kLongestText);
  EXPECT_EQ(kept.effects.at(0).size(), TransitionLog::kLongestText);
}

TEST(TransitionLog, WakesItsKeeperOnceAndHandsItTheMoves) {
  TransitionLog log;
  log.add(move("/a", "before it came"));
  int woken = 0;
  log.keepWith([&] { ++woken; });
  log.add(noMove("/a", "Heard"));
  EXPECT_EQ(woken, 0) << "what moves nothing is not kept";
  log.add(move("/a", "one"));
  log.add(move("/a", "two"));
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(log.takeUnwritten(1).at(0).to, "one");
  EXPECT_EQ(log.takeUnwritten(9).at(0).to, "two");
  EXPECT_TRUE(log.takeUnwritten(9).empty());
  log.add(move("/a", "three"));
  EXPECT_EQ(woken, 2);
  log.forgetKeeper();
  EXPECT_TRUE(log.takeUnwritten(9).empty());
}

TEST(TransitionLog, CountsWhatAKeeperIsTooSlowFor) {
  TransitionLog log;
  log.keepWith([] {});
  for (size_t i = 0; i < TransitionLog::kUnwritten + 3; ++i) log.add(move("/a", "x"));
  EXPECT_EQ(log.dropped(), 3);
  EXPECT_EQ(log.takeUnwritten(10'000).size(), TransitionLog::kUnwritten);
}

TEST(TransitionLog, EarlierLivesStandBehindThisOne) {
  TransitionLog log;
  log.add(move("/a", "now"));
  log.restore({move("/a", "long ago"), move("/gone", "then"), move("/a", "before")});
  EXPECT_EQ(targets(log), (Texts{"now", "before", "then", "long ago"}));
  log.restore({move("/a", "twice")});
  EXPECT_EQ(log.find({}).size(), 4u) << "a keeper that is restarted brings nothing twice";
}

TEST(TransitionLog, EarlierLivesTakeNoPlaceOfThisOne) {
  TransitionLog log;
  for (size_t i = 1; i < TransitionLog::kMovesOfAnActor; ++i) log.add(move("/a", "now"));
  log.restore({move("/a", "oldest"), move("/a", "old")});
  const auto kept = targets(log, {.limit = 1000});
  EXPECT_EQ(kept.size(), TransitionLog::kMovesOfAnActor);
  EXPECT_EQ(kept.back(), "old");
}

}  // namespace
}  // namespace troupe
