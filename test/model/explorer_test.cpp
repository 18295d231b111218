#include "test/model/explorer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/model/mutation.hpp"
#include "test/model/subjects/tally.hpp"
#include "test/model/subjects/voting.hpp"
#include "test/model/walker.hpp"

namespace troupe::model {
namespace {

using machines::Snapshot;
using machines::Step;
using machines::World;
using tally::Tally;
using tally::Teller;
using voting::Voter;

Model tallyWith(int adds, int crashes) {
  Model model;
  model.machine<Tally>("a", {});
  model.client<Tally>("a", tally::Add{}, adds);
  model.faults.crashes = crashes;
  return model;
}

template <class Event>
Model tellerAndTally(Faults faults, Event begin) {
  Model model;
  model.machine<Teller>("a", {.to = "b"});
  model.machine<Tally>("b", {});
  model.client<Teller>("a", begin);
  model.faults = faults;
  return model;
}

bool counted(const World& world) {
  return world.count<Tally>([](const auto& tally) { return tally.document.count > 0; }) > 0;
}

TEST(Explorer, CountsTheStatesOfASmallSpaceExactly) {
  const Report plain = check(tallyWith(2, 0));
  EXPECT_EQ(plain.states, 3u) << "0, 1 and 2 counted";
  EXPECT_EQ(plain.transitions, 2u);
  EXPECT_TRUE(plain.clean());

  const Report crashing = check(tallyWith(2, 1));
  EXPECT_EQ(crashing.states, 9u) << "each of the three before the crash, down, and restarted";
  EXPECT_EQ(crashing.transitions, 10u) << "2 counts and 3 crashes, 3 restarts and 2 counts";
  EXPECT_EQ(crashing.depth, 4u);
}

TEST(Explorer, LosesAndDuplicatesEachMessage) {
  const Report quiet = check(tellerAndTally({}, tally::Tell{}));
  EXPECT_EQ(quiet.states, 3u) << "nothing, under way, counted";
  const Report noisy = check(tellerAndTally({.losses = 1, .duplications = 1}, tally::Tell{}));
  EXPECT_EQ(noisy.states, 7u) << "and lost; counted and still under way, then counted twice or lost";
  EXPECT_EQ(noisy.transitions, 6u);
}

TEST(Explorer, UndoesAfterACrashWhatWasNotSafe) {
  auto withOneCrash = [](bool safely) {
    Model model;
    model.machine<Tally>("a", {.safely = safely});
    model.client<Tally>("a", tally::Add{});
    model.faults.crashes = 1;
    return check(model).states;
  };
  EXPECT_EQ(withOneCrash(true), 6u) << "0 and 1 before the crash, down, and afterwards";
  EXPECT_EQ(withOneCrash(false), 9u) << "and undone: down and afterwards; 1 that is safe since the crash, or isn't";
}

TEST(Explorer, StopsAtItsBoundsAndSaysSo) {
  Model model = tallyWith(5, 0);
  model.bounds.depth = 3;
  const Report report = check(model);
  EXPECT_FALSE(report.exhausted);
  EXPECT_FALSE(report.clean());
  EXPECT_EQ(report.states, 4u);

  Model within = tallyWith(5, 0);
  within.within<Tally>([](const auto& now) { return now.document.count <= 2; });
  const Report limited = check(within);
  EXPECT_EQ(limited.states, 3u);
  EXPECT_EQ(limited.cut, 1u);
  EXPECT_TRUE(limited.clean());
}

TEST(Explorer, FindsAStateFromWhichNothingLeadsToTheGoal) {
  Model model = tellerAndTally({.losses = 1}, tally::Tell{});
  model.goal("counted", counted);
  const Report report = check(model);
  EXPECT_EQ(report.broken, "no way to: counted");
  EXPECT_EQ(report.storyLength, 2u) << "told, lost\n" << report.story;
  EXPECT_NE(report.story.find("lose a -> b"), std::string::npos) << report.story;
}

TEST(Explorer, AsksAgainUntilTheAnswerHasCome) {
  Model model = tellerAndTally({.crashes = 1, .losses = 2}, tally::AskFor{});
  model.goal("answered", [](const World& world) {
    return world.count<Teller>([](const auto& teller) { return teller.document.phase == Teller::Phase::kDone; }) == 1;
  });
  // Before the client came, only it leads on: it isn't a fault.
  EXPECT_TRUE(check(model).clean()) << check(model);
}

TEST(Explorer, TakesAnAnswerOnlyForAQuestionThatIsOpen) {
  Model model = tellerAndTally({.crashes = 1, .duplications = 2}, tally::AskFor{});
  model.never("answered before anything was counted", [](const World& world) {
    return world.count<Teller>([](const auto& t) { return t.document.phase == Teller::Phase::kDone; }) > 0 &&
           !counted(world) && world.count<Tally>([](const auto&) { return true; }) > 0;
  });
  EXPECT_TRUE(check(model).clean());
}

TEST(Explorer, SaysWhichRowsWereNeverTakenAndWhichMessagesNobodyTakes) {
  Model model;
  model.machine<Teller>("a", {.to = "b"});
  model.machine<Teller>("b", {.to = "a"});
  model.client<Teller>("a", tally::Tell{});
  const Report report = check(model);
  EXPECT_EQ(report.rowsNeverTaken,
            (std::vector<std::string>{"teller, idle: AskFor", "teller, asking: Counted", "teller, asking: Refused"}));
  ASSERT_EQ(report.untaken.size(), 1u);
  EXPECT_EQ(report.untaken[0].first, "Count");
}

TEST(Explorer, LetsANodeWithoutAMachineAnswerAsTheModelSays) {
  Model model;
  model.machine<Teller>("a", {.to = "b"});
  model.machine<Tally>("b", {});
  Model other;
  other.machine<Teller>("a", {.to = "a"});
  other.client<Teller>("a", tally::AskFor{});
  other.answers<tally::Count>([](const NodeName&, const tally::Count&) { return std::vector{tally::Counted{}}; });
  other.goal("answered", [](const World& world) {
    return world.count<Teller>([](const auto& t) { return t.document.phase == Teller::Phase::kDone; }) == 1;
  });
  EXPECT_TRUE(check(other).clean()) << check(other);
  EXPECT_TRUE(check(other).untaken.empty());
}

TEST(Explorer, BringsARefusalToWhoAsked) {
  Model model;
  model.machine<Teller>("a", {.to = "b"});
  model.machine<tally::Refuser>("b", {});
  model.client<Teller>("a", tally::AskFor{});
  model.faults = {.crashes = 1, .losses = 1};
  model.goal("refused", [](const World& world) {
    return world.count<Teller>([](const auto& t) { return t.document.phase == Teller::Phase::kRefused; }) == 1;
  });
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

/// As the host does: the receiver has decided nothing, it may be a node that is no longer primary.
TEST(Explorer, ARefusalThatIsAFailureOfTheWayIsAskedAgain) {
  using tally::Refuser;
  const auto elsewhere = Mutation<Refuser>::on<tally::Count>(
      [](const auto&, const Snapshot<Refuser>&, const tally::Count&) -> Step<Refuser> {
        return Refuser::stay().then(Refuser::refuse({ErrorCode::kNotWritablePrimary, "ask another node"}));
      });
  Model model;
  model.machine<Teller>("a", {.to = "b"});
  model.machine<Refuser>("b", {});
  model.client<Teller>("a", tally::AskFor{});
  model.never("the asker hears of it", [](const World& world) {
    return world.count<Teller>([](const auto& t) { return t.document.phase == Teller::Phase::kRefused; }) > 0;
  });
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
  Walker walker(model);
  for (int step = 0; step < 5; ++step) {
    const auto next = walker.usual(false);
    ASSERT_TRUE(next) << "it gives up";
    walker.take(*next);
  }
  const auto asksAgain = [](const Happening& h) { return h.action.what == Action::What::kAskAgain; };
  EXPECT_TRUE(std::ranges::any_of(walker.way(), asksAgain));
}

TEST(Explorer, FiresTimersInAnyOrderUnlessToldOtherwise) {
  Model model;
  model.machine<tally::Refuser>("a", {});
  model.never("the later one comes first", [](const World& world) {
    return world.count<tally::Refuser>(
               [](const auto& r) { return r.document.phase == tally::Refuser::Phase::kLateCame; }) > 0;
  });
  EXPECT_EQ(check(model).storyLength, 1u);
  model.bounds.timersInOrder = true;
  EXPECT_TRUE(check(model).clean());
}

TEST(Explorer, BeginsAMachineAtAnyTimeIfTheModelSaysSo) {
  Model model;
  model.machine<Tally>("a", {}, Model::Start::kAnyTime);
  model.client<Tally>("a", tally::Add{});
  EXPECT_EQ(check(model).states, 3u) << "not there, there, counted";
}

TEST(EverlastingNetwork, ReachesWhatAnyNumberOfLossesAndDuplicationsReaches) {
  for (const int crashes : {0, 1}) {
    Model bounded = voting::voters(2, 2);
    bounded.faults = {.crashes = crashes, .losses = kAnyNumber, .duplications = kAnyNumber};
    bounded.bounds.mergeEqual = true;
    Model everlasting = voting::voters(2, 2);
    everlasting.faults.crashes = crashes;
    everlasting.network = Network::kEverlasting;
    const Report all = check(bounded), few = check(everlasting);
    EXPECT_TRUE(all.clean()) << all;
    EXPECT_TRUE(few.clean()) << few;
    EXPECT_EQ(few.combinations, all.combinations);
    EXPECT_LT(few.states, all.states);
  }
}

TEST(EverlastingNetwork, TellsAShortestWay) {
  const auto bug = Mutation<Voter>::on<voting::RequestVote>([](const auto& real, const auto& now, const auto& e) {
    Snapshot<Voter> forgetful = now;
    if (now.document.votedFor != now.document.self) forgetful.document.votedFor.clear();
    return real(forgetful, e);
  });
  Model model = voting::voters(3, 1);
  model.network = Network::kEverlasting;
  EXPECT_EQ(check(model).storyLength, 6u) << check(model).story;
}

TEST(EverlastingNetwork, FindsAStateThatNeedsAMessageWhichWasLost) {
  Model model = tellerAndTally({}, tally::Tell{});
  model.network = Network::kEverlasting;
  model.within<Tally>([](const auto& now) { return now.document.count <= 2; });
  model.goal("counted", counted);
  const Report report = check(model);
  EXPECT_EQ(report.broken, "no way to: counted (all messages were lost)");
}

TEST(Voting, HasOneLeaderATermWhateverGoesWrong) {
  Model model = voting::voters(3, 1);
  model.faults = {.crashes = 1, .losses = 1, .duplications = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_TRUE(report.rowsNeverTaken.empty());
}

Mutation<Voter> votesForEverybody() {
  return Mutation<Voter>::on<voting::RequestVote>(
      [](const auto& real, const Snapshot<Voter>& now, const voting::RequestVote& e) {
        Snapshot<Voter> forgetful = now;
        if (now.document.votedFor != now.document.self) forgetful.document.votedFor.clear();
        return real(forgetful, e);
      });
}

TEST(Voting, APlantedBugIsToldInTheFewestSteps) {
  const auto bug = votesForEverybody();
  const Report report = check(voting::voters(3, 1));
  EXPECT_EQ(report.broken, "leader of term 1 was n1 and is now n3") << report;
  EXPECT_EQ(report.storyLength, 6u) << "two stand, one voter votes for both, both votes arrive\n" << report.story;
}

TEST(Voting, AMutationEndsWithItsObject) {
  { const auto bug = votesForEverybody(); }
  EXPECT_TRUE(check(voting::voters(3, 1)).clean());
}

TEST(Voting, AVoteThatIsSentBeforeItIsSafeIsFound) {
  Model model = voting::voters(3, 1);
  model.faults.crashes = 1;
  ASSERT_TRUE(check(model).clean());
  model.hostBug = HostBug::kEffectsBeforePersist;
  const Report report = check(model);
  EXPECT_NE(report.broken, "");
  EXPECT_EQ(report.storyLength, 7u) << report.story;
}

TEST(Voting, AVoteThatACrashMayUndoIsFound) {
  const auto bug = Mutation<Voter>::on<voting::RequestVote>([](const auto& real, const auto& now, const auto& e) {
    Step<Voter> step = real(now, e);
    step.durability = machines::Durability::kLocal;
    return step;
  });
  Model model = voting::voters(3, 1);
  EXPECT_TRUE(check(model).clean()) << "nothing crashes";
  model.faults.crashes = 1;
  EXPECT_NE(check(model).broken, "");
}

TEST(Voting, TellsACounterExampleAsAScript) {
  const auto bug = votesForEverybody();
  EXPECT_EQ(check(voting::voters(3, 1)).story,
            "start\n"
            "  n1        : follower, self=n1 others=[n2, n3] term=0\n"
            "  n2        : follower, self=n2 others=[n1, n3] term=0\n"
            "  n3        : follower, self=n3 others=[n1, n2] term=0\n"
            "timeout n1 ElectionTimeout\n"
            "  n1        : candidate, term=1 votedFor=n1 votes=[n1] (journaled)\n"
            "  n1 -> n2    RequestVote term=1 candidate=n1\n"
            "  n2        : term=1 votedFor=n1 (journaled)\n"
            "  n2 -> n1    Vote term=1 from=n2\n"
            "  n1        : leader, votes=[n1, n2]\n"
            "timeout n3 ElectionTimeout\n"
            "  n3        : candidate, term=1 votedFor=n3 votes=[n3] (journaled)\n"
            "  n3 -> n2    RequestVote term=1 candidate=n3\n"
            "  n2        : votedFor=n3 (journaled)\n"
            "  n2 -> n3    Vote term=1 from=n2\n"
            "  n3        : leader, votes=[n2, n3]\n"
            "  # leader of term 1 was n1 and is now n3\n");
}

}  // namespace
}  // namespace troupe::model
