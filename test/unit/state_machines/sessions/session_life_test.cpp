#include "state_machines/sessions/session_life.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "messaging/description/text.hpp"
#include "test/unit/state_machines/core/machine_page.hpp"

namespace troupe::sessions {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Phase = SessionLife::Phase;

/// What it decides, as people read it: "Grant{operation=1}".
template <class Event>
std::vector<std::string> tell(SessionLife::Memory& life, const Event& event) {
  std::vector<std::string> told;
  for (const auto& action : SessionLife::on(life, event))
    told.push_back(std::visit([](const auto& one) { return machines::toText(one); }, action));
  return told;
}

/// Has it: with a history that was read in term 1.
SessionLife::Memory takenBy(int64_t operation, const std::string& child = "", int64_t retryOf = kNoNumber) {
  SessionLife::Memory life;
  tell(life, CheckOutWanted{operation, child, retryOf, 10});
  tell(life, HistoryWanted{operation, 1});
  tell(life, HistoryRead{operation});
  return life;
}
/// Has gone, and was known.
SessionLife::Memory knownAfter(int64_t operation) {
  SessionLife::Memory life = takenBy(operation);
  tell(life, CheckedIn{operation});
  return life;
}

TEST(SessionLife, OneOperationHasItAndTheOthersFollowInTheirOrder) {  // SES-010
  SessionLife::Memory life;
  EXPECT_THAT(tell(life, CheckOutWanted{1}), ElementsAre("Grant{operation=1}"));
  EXPECT_THAT(tell(life, CheckOutWanted{2}), IsEmpty());
  EXPECT_THAT(tell(life, CheckOutWanted{3}), IsEmpty());
  EXPECT_THAT(tell(life, CheckedIn{1}), ElementsAre("Grant{operation=2}"));
  EXPECT_THAT(tell(life, CheckedIn{2}), ElementsAre("Grant{operation=3}"));
  EXPECT_THAT(tell(life, CheckedIn{3}), IsEmpty());
  EXPECT_EQ(life.phase, Phase::kFree);
}

TEST(SessionLife, AChildAndItsParentAreOne) {  // SES-002
  SessionLife::Memory life;
  tell(life, CheckOutWanted{1, "u", 4, 10});
  EXPECT_THAT(tell(life, CheckOutWanted{2, "", kNoNumber, 20}), IsEmpty());
  EXPECT_EQ(life.lastUse, 10) << "it waits";
  EXPECT_THAT(tell(life, CheckedIn{1, kNoStatement, false, 30}), ElementsAre("Grant{operation=2}"));
  EXPECT_EQ(life.lastUse, 30) << "of both";
}

TEST(SessionLife, OneThatGivesUpIsPassedOver) {
  SessionLife::Memory life;
  for (int64_t operation = 1; operation <= 3; ++operation) tell(life, CheckOutWanted{operation});
  EXPECT_THAT(tell(life, GaveUp{2}), IsEmpty());
  EXPECT_THAT(tell(life, CheckedIn{1}), ElementsAre("Grant{operation=3}"));
  EXPECT_THAT(tell(life, GaveUp{3}), IsEmpty()) << "it was given the session in the same moment";
  EXPECT_EQ(life.phase, Phase::kFree);
}

TEST(SessionLife, HearsNothingOfOperationsThatHaveGone) {
  SessionLife::Memory life = takenBy(1);
  const SessionLife::Memory before = life;
  EXPECT_THAT(tell(life, CheckedIn{7}), IsEmpty());
  EXPECT_THAT(tell(life, HistoryRead{7}), IsEmpty());
  EXPECT_THAT(tell(life, HistoryWanted{7, 1}), IsEmpty());
  EXPECT_THAT(tell(life, NumberBegun{7, 1}), IsEmpty());
  EXPECT_EQ(life, before);
}

TEST(SessionLife, WhatIsKnownHoldsForOneTermAndUntilTheNextEdit) {  // SES-013
  SessionLife::Memory life = knownAfter(1);
  tell(life, CheckOutWanted{2});
  EXPECT_THAT(tell(life, HistoryWanted{2, 1}), ElementsAre("UseHistory{operation=2}"));
  tell(life, CheckedIn{2});
  tell(life, CheckOutWanted{3});
  EXPECT_THAT(tell(life, HistoryWanted{3, 2}), ElementsAre("ReadHistory{operation=3}"));
  tell(life, HistoryRead{3});
  tell(life, CheckedIn{3});
  EXPECT_THAT(tell(life, Invalidated{}), ElementsAre(R"(Forget{child=""})"));
  tell(life, CheckOutWanted{4});
  EXPECT_THAT(tell(life, HistoryWanted{4, 2}), ElementsAre("ReadHistory{operation=4}"));
}

TEST(SessionLife, AnOperationOfAnEarlierTermEnds) {
  SessionLife::Memory life;
  tell(life, CheckOutWanted{1});
  tell(life, HistoryWanted{1, 3});
  tell(life, CheckedIn{1});
  tell(life, CheckOutWanted{2});
  EXPECT_THAT(tell(life, HistoryWanted{2, 2}), ElementsAre("EndOperation{operation=2}"));
  EXPECT_EQ(life.phase, Phase::kEnding);
}

TEST(SessionLife, AnEditEndsTheOperationButNotThoseThatWait) {  // SES-013
  SessionLife::Memory life = takenBy(1);
  tell(life, CheckOutWanted{2});
  EXPECT_THAT(tell(life, Invalidated{}), ElementsAre("EndOperation{operation=1}"));
  EXPECT_THAT(tell(life, Invalidated{}), IsEmpty()) << "it was told";
  EXPECT_THAT(tell(life, CheckedIn{1}), ElementsAre(R"(Forget{child=""})", "Grant{operation=2}"));
  EXPECT_THAT(tell(life, HistoryWanted{2, 1}), ElementsAre("ReadHistory{operation=2}"));
}

TEST(SessionLife, WhatWasReadWhileItWasEditedIsNotKnown) {
  SessionLife::Memory life;
  tell(life, CheckOutWanted{1});
  tell(life, HistoryWanted{1, 1});
  tell(life, Invalidated{});
  EXPECT_THAT(tell(life, HistoryRead{1}), ElementsAre("EndOperation{operation=1}"));
  EXPECT_THAT(tell(life, NumberBegun{1, 5}), ElementsAre("EndOperation{operation=1}"));
  EXPECT_THAT(tell(life, CheckedIn{1}), ElementsAre(R"(Forget{child=""})"));
}

TEST(SessionLife, AKillEndsTheOperationAndThoseThatWait) {  // SES-003
  SessionLife::Memory life = takenBy(1, "u");
  tell(life, CheckOutWanted{2});
  EXPECT_THAT(tell(life, Killed{}), ElementsAre("EndOperation{operation=1}", "EndWaiter{operation=2}"));
  EXPECT_EQ(life.kills, 1);
  tell(life, CheckOutWanted{3});
  EXPECT_THAT(tell(life, CheckedIn{1}), ElementsAre("Forget{child=u}", "Grant{operation=3}"))
      << "who comes later waits until the kill is served, and goes on";
  EXPECT_EQ(life.kills, 0);
}

TEST(SessionLife, OnlyTheFirstKillTellsTheOperation) {  // SES-011
  SessionLife::Memory life = takenBy(1);
  tell(life, Killed{});
  EXPECT_THAT(tell(life, Killed{}), IsEmpty());
  tell(life, CheckOutWanted{2});
  EXPECT_THAT(tell(life, Killed{}), ElementsAre("EndWaiter{operation=2}")) << "it came before this one";
  EXPECT_EQ(life.kills, 3);
  tell(life, CheckedIn{1});
  EXPECT_EQ(life.kills, 0);
  EXPECT_EQ(life.phase, Phase::kFree);
}

TEST(SessionLife, AKillOfAFreeOneForgetsWhatIsKnown) {
  SessionLife::Memory life = knownAfter(1);
  EXPECT_THAT(tell(life, Killed{}), ElementsAre(R"(Forget{child=""})"));
  EXPECT_EQ(life.kills, 0) << "nobody has to answer it";
}

TEST(SessionLife, AHigherNumberEndsTheChildrenOfLowerOnes) {  // SES-012
  SessionLife::Memory life;
  for (const auto& [operation, child, number] :
       {std::tuple{1, "a", 1}, std::tuple{2, "b", 2}, std::tuple{3, "free", -1}}) {
    tell(life, CheckOutWanted{operation, child, number});
    tell(life, HistoryWanted{operation, 1});
    tell(life, HistoryRead{operation});
    if (number > 0) tell(life, NumberBegun{operation, number});
    tell(life, CheckedIn{operation, 0});
  }
  tell(life, CheckOutWanted{4});
  tell(life, HistoryWanted{4, 1});
  tell(life, HistoryRead{4});
  EXPECT_THAT(tell(life, NumberBegun{4, 3}), ElementsAre("Forget{child=b}", "BeginNumber{operation=4}"))
      << "that of number 1 ended with number 2, and one without a number stays";
  EXPECT_EQ(life.members.size(), 2u);
  EXPECT_EQ(life.lastNumber, 3);
  EXPECT_THAT(tell(life, CheckedIn{4, 0}), ElementsAre("ReapRecords{child=b}"));
}

/// An operation on the family that begins a number, of the parent or of a child, and executes a statement or none.
std::vector<std::string> use(SessionLife::Memory& life, const std::string& child, int64_t number, int32_t statement,
                             int64_t recorded = kNoNumber, int64_t term = 1) {
  const int64_t operation = life.arrivals + 1;
  tell(life, CheckOutWanted{operation, child, child.empty() ? kNoNumber : number});
  tell(life, HistoryWanted{operation, term});
  tell(life, HistoryRead{operation});
  auto told = tell(life, NumberBegun{operation, number, recorded});
  for (std::string& more : tell(life, CheckedIn{operation, statement})) told.push_back(std::move(more));
  std::erase_if(told, [](const std::string& one) { return !one.starts_with("Reap") && !one.starts_with("Refuse"); });
  return told;
}

/// A number that wrote nothing leaves no record: who reads the records afterwards needs those of older ones.
TEST(SessionLife, RecordsOfChildrenGoBelowTheHighestNumberThatHasOne) {  // SES-012
  SessionLife::Memory life;
  use(life, "a", 1, 0);
  EXPECT_THAT(use(life, "", 2, kNoStatement), IsEmpty()) << "number 2 has no record";
  EXPECT_THAT(use(life, "a", 1, 0), ElementsAre(testing::StartsWith("RefuseNumber"))) << "but it has begun";
  EXPECT_THAT(use(life, "b", 3, kNoStatement), IsEmpty());
  EXPECT_THAT(use(life, "c", 3, 0), ElementsAre("ReapRecords{child=a}"));
  EXPECT_THAT(use(life, "", 4, kNoStatement), IsEmpty());
  EXPECT_THAT(use(life, "", 4, 0), ElementsAre("ReapRecords{child=b}", "ReapRecords{child=c}"));
  EXPECT_THAT(life.over, IsEmpty());
}

TEST(SessionLife, AnOperationThatWasToldToEndLeavesNoCertainRecord) {
  SessionLife::Memory life;
  use(life, "a", 1, 0);
  tell(life, CheckOutWanted{50});
  tell(life, HistoryWanted{50, 1});
  tell(life, HistoryRead{50});
  tell(life, NumberBegun{50, 2});
  tell(life, Invalidated{});
  EXPECT_THAT(tell(life, CheckedIn{50, 0}), Not(testing::Contains(testing::StartsWith("Reap"))));
  EXPECT_THAT(use(life, "", 3, kNoStatement, 2), ElementsAre("ReapRecords{child=a}"))
      << "a record that was read is one";
}

TEST(SessionLife, ChildrenThatWaitForARecordAreOfOneTermAndNotVeryMany) {
  SessionLife::Memory life;
  use(life, "a", 1, 0);
  use(life, "", 2, kNoStatement);
  EXPECT_THAT(use(life, "", 3, 0, kNoNumber, /*term=*/2), IsEmpty()) << "the periodic reaping finds them";
  for (int64_t number = 4; number < 300; ++number)
    use(life, "u" + std::to_string(number), number, kNoStatement, kNoNumber, 2);
  EXPECT_EQ(life.over.size(), SessionLife::kMostChildren);
  EXPECT_EQ(life.over.back().child, "u298");
}

TEST(SessionLife, ANumberThatIsOverDoesNotBegin) {
  SessionLife::Memory life = takenBy(1);
  tell(life, NumberBegun{1, 5});
  tell(life, CheckedIn{1});
  tell(life, CheckOutWanted{2, "u", 4});
  tell(life, HistoryWanted{2, 1});
  tell(life, HistoryRead{2});
  EXPECT_THAT(tell(life, NumberBegun{2, 4}), ElementsAre("RefuseNumber{operation=2}"));
  EXPECT_EQ(life.lastNumber, 5);
}

TEST(SessionLife, TheParentsRecordSaysWhichNumberIsOver) {
  SessionLife::Memory life = takenBy(1, "u", 4);
  EXPECT_THAT(tell(life, NumberBegun{1, 4, 5}), ElementsAre("RefuseNumber{operation=1}"));
  life = takenBy(1, "u", 4);
  EXPECT_THAT(tell(life, NumberBegun{1, 4, 4}), ElementsAre("BeginNumber{operation=1}"));
}

/// The record may say anything afterwards.
TEST(SessionLife, AfterAnEditNoNumberIsOver) {
  SessionLife::Memory life = takenBy(1);
  tell(life, NumberBegun{1, 5});
  tell(life, CheckedIn{1, 2});
  tell(life, Invalidated{});
  tell(life, CheckOutWanted{2});
  tell(life, HistoryWanted{2, 1});
  EXPECT_EQ(life.lastNumber, 5) << "for people it stays";
  EXPECT_EQ(life.lastStatement, 2);
  EXPECT_THAT(tell(life, NumberBegun{2, 4}), ElementsAre("BeginNumber{operation=2}"));
  EXPECT_EQ(life.lastStatement, kNoStatement);
}

TEST(SessionLife, AnOperationWithoutANumberLeavesTheLastOne) {
  SessionLife::Memory life = takenBy(1);
  tell(life, NumberBegun{1, 5});
  tell(life, CheckedIn{1, 2});
  tell(life, CheckOutWanted{2});
  tell(life, CheckedIn{2});
  EXPECT_EQ(life.lastNumber, 5);
  EXPECT_EQ(life.lastStatement, 2);
}

TEST(SessionLife, ALargeHistoryIsNotRemembered) {
  SessionLife::Memory life = takenBy(1);
  EXPECT_THAT(tell(life, CheckedIn{1, 2000, true}), ElementsAre(R"(Forget{child=""})"));
  tell(life, CheckOutWanted{2});
  EXPECT_THAT(tell(life, HistoryWanted{2, 1}), ElementsAre("ReadHistory{operation=2}"));
}

TEST(SessionLife, TheChildUnusedForLongestGivesWay) {
  SessionLife::Memory life = knownAfter(1);
  const auto use = [&](const std::string& child) {
    tell(life, CheckedIn{life.holder.operation});
    return tell(life, CheckOutWanted{life.arrivals + 100, child});
  };
  for (size_t i = 0; i < SessionLife::kMostChildren; ++i) EXPECT_EQ(use("child" + std::to_string(i)).size(), 1u);
  use("child0");
  EXPECT_THAT(use("another"), ElementsAre("Forget{child=child1}", testing::StartsWith("Grant")));
  EXPECT_EQ(life.members.size(), SessionLife::kMostChildren + 1) << "the parent stays";
}

TEST(SessionLife, OneThatIsUsedOrWaitedForIsNotReaped) {  // SES-011
  SessionLife::Memory life = takenBy(1);
  tell(life, CheckOutWanted{2});
  tell(life, ReapWanted{1000});
  EXPECT_EQ(life.phase, Phase::kTaken);
  tell(life, CheckedIn{1, kNoStatement, false, 20});
  tell(life, ReapWanted{1000});
  EXPECT_EQ(life.phase, Phase::kTaken);
  tell(life, CheckedIn{2});
  EXPECT_FALSE(mayBeReaped(life, 20)) << "it was checked out then";
  EXPECT_TRUE(mayBeReaped(life, 21));
  tell(life, ReapWanted{21});
  EXPECT_EQ(life.phase, Phase::kReaped);
}

/// The catalog calls `on` in every phase, the table has rows for some.
TEST(SessionLife, AnEventWithoutARowChangesNothing) {
  const std::vector<SessionLife::Event> events{CheckOutWanted{9}, HistoryWanted{9, 1}, HistoryRead{9},
                                               NumberBegun{9, 1}, CheckedIn{9},        GaveUp{9},
                                               Killed{},          Invalidated{},       ReapWanted{1000}};
  std::vector<SessionLife::Memory> lives(4);
  lives[1] = takenBy(9);
  lives[2] = takenBy(9);
  tell(lives[2], Killed{});
  tell(lives[3], ReapWanted{1000});
  size_t without = 0;
  for (const auto& before : lives) {
    for (const auto& event : events) {
      if (SessionLife::transitions().find(before.phase, event.index())) continue;
      ++without;
      SessionLife::Memory life = before;
      const auto told = std::visit([&](const auto& one) { return tell(life, one); }, event);
      EXPECT_THAT(told, IsEmpty());
      EXPECT_EQ(life, before) << machines::toText(life);
    }
  }
  EXPECT_EQ(without, 16u);
}

TEST(SessionLife, ItsPageShowsTheMachineAsItIs) {
  machines::test::expectPageShows<SessionLife>("docs/protocols/sessions.md");
}

}  // namespace
}  // namespace troupe::sessions
