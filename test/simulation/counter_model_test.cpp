#include "test/simulation/counter_model.hpp"

#include <gtest/gtest.h>

namespace troupe::sim {
namespace {

using Found = CounterModel::Found;
using Tells = CounterModel::Tells;

Found standsAt(int64_t n, int64_t by, uint64_t at = 0) { return CounterModel::Document{n, by, at}; }

/// A counter at 1, by operation 1.
CounterModel atOne() {
  CounterModel model;
  model.begin(1, false);
  EXPECT_EQ(model.done(1, Tells::kBefore, {}), "");
  return model;
}

TEST(CounterModel, WhatIsAcknowledgedIsThere) {
  CounterModel model = atOne();
  EXPECT_EQ(model.left(standsAt(1, 1)), "");
  EXPECT_NE(model.left({}), "");
  EXPECT_NE(model.left(standsAt(2, 1)), "") << "it was carried out twice";
  model.begin(2, true);
  EXPECT_EQ(model.done(2, Tells::kBefore, standsAt(1, 1)), "");
  EXPECT_EQ(model.left({}), "");
  EXPECT_NE(model.left(standsAt(1, 1)), "");
}

TEST(CounterModel, WhatHasNoAnswerWasCarriedOutOrNot) {
  CounterModel model = atOne();
  model.begin(2, false);
  EXPECT_EQ(model.left(standsAt(1, 1)), "");
  EXPECT_EQ(model.left(standsAt(2, 2)), "");
  model.begin(3, false);
  CounterModel other = model;
  EXPECT_EQ(model.done(3, Tells::kAfter, standsAt(2, 3)), "") << "operation 2 was not";
  EXPECT_NE(model.shown(standsAt(2, 2), 0), "");
  EXPECT_EQ(other.done(3, Tells::kBefore, standsAt(2, 2)), "") << "operation 2 was";
  EXPECT_EQ(other.shown(standsAt(2, 2), 0), "");
  EXPECT_NE(other.left(standsAt(2, 3)), "");
}

TEST(CounterModel, WhatIsToldIsTheOperationsOwnDocument) {
  CounterModel model = atOne();
  model.begin(2, false);
  EXPECT_NE(model.done(2, Tells::kBefore, {}), "");
  EXPECT_NE(model.done(2, Tells::kBefore, standsAt(2, 2)), "");
  EXPECT_NE(model.done(2, Tells::kAfter, standsAt(1, 1)), "");
  EXPECT_NE(model.done(2, Tells::kAfter, standsAt(3, 2)), "");
  EXPECT_EQ(model.done(2, Tells::kAfter, standsAt(2, 2)), "");
}

TEST(CounterModel, AMajorityReadShowsWhatWasAcknowledgedBeforeIt) {
  CounterModel model = atOne();
  model.begin(2, false);
  EXPECT_EQ(model.done(2, Tells::kNothing, {}), "");
  EXPECT_EQ(model.shown(standsAt(1, 1), 1), "") << "nothing later was asked for";
  EXPECT_NE(model.shown(standsAt(1, 1), 2), "");
  EXPECT_NE(model.shown({}, 1), "");
  EXPECT_EQ(model.shown({}, 0), "");
  EXPECT_EQ(model.shown(standsAt(2, 2), 2), "");
}

TEST(CounterModel, WhatAMajorityReadHasShownIsNotTakenBack) {
  CounterModel model = atOne();
  model.begin(2, false);
  EXPECT_EQ(model.shown(standsAt(2, 2), 0), "");
  EXPECT_NE(model.left(standsAt(1, 1)), "");
  EXPECT_NE(model.failed(2), "");
  model.begin(3, true);
  EXPECT_NE(model.done(3, Tells::kBefore, standsAt(1, 1)), "");
  EXPECT_EQ(model.done(3, Tells::kBefore, standsAt(2, 2)), "");
}

TEST(CounterModel, AnOperationIsAnsweredAfterAReadHasShownIt) {
  for (const bool isRight : {true, false}) {
    CounterModel model = atOne();
    model.begin(2, false);
    EXPECT_EQ(model.shown(standsAt(2, 2), 0), "");
    EXPECT_EQ(model.done(2, Tells::kBefore, isRight ? standsAt(1, 1) : Found()).empty(), isRight);
  }
}

TEST(CounterModel, AMajorityReadShowsNothingThatWasRefusedOrRolledBack) {
  CounterModel model = atOne();
  model.begin(2, false);
  EXPECT_EQ(model.failed(2), "");
  EXPECT_NE(model.shown(standsAt(2, 2), 0), "");
  model.begin(3, false);
  model.begin(4, false);
  EXPECT_EQ(model.done(4, Tells::kBefore, standsAt(1, 1)), "");
  EXPECT_NE(model.shown(standsAt(2, 3), 0), "");
  EXPECT_EQ(model.shown(standsAt(1, 1), 0), "");
}

TEST(CounterModel, WhatAMajorityHasWasCarriedOutOnce) {
  CounterModel model = atOne();
  model.begin(2, false);
  EXPECT_EQ(model.shown(standsAt(2, 2, 70), 0), "");
  EXPECT_EQ(model.shown(standsAt(2, 2, 70), 0), "");
  EXPECT_NE(model.shown(standsAt(2, 2, 71), 0), "") << "what was read first was rolled back";
  EXPECT_NE(model.done(2, Tells::kAfter, standsAt(2, 2, 71)), "");
  EXPECT_NE(model.left(standsAt(2, 2, 71)), "");
  EXPECT_EQ(model.left(standsAt(2, 2, 70)), "");
}

TEST(CounterModel, ARemovalOfWhatMayBeMissingStaysPossible) {
  CounterModel model;
  for (int64_t number = 1; number < 40; number += 2) {
    model.begin(number, true);
    model.begin(number + 1, false);
    EXPECT_EQ(model.done(number + 1, Tells::kNothing, {}), "");
    EXPECT_EQ(model.shown(standsAt(1, number + 1), number + 1).empty(), true);
    model.begin(number + 2, true);
    EXPECT_EQ(model.done(number + 2, Tells::kBefore, standsAt(1, number + 1)), "");
    number += 2;
    EXPECT_FALSE(model.isVague());
  }
}

TEST(CounterModel, ManyOperationsWithoutAnAnswerAreVagueUntilOneIsSeen) {
  CounterModel model;
  for (int64_t number = 1; number <= 7; ++number) model.begin(number, false);
  EXPECT_TRUE(model.isVague());
  EXPECT_EQ(model.shown(standsAt(7, 7), 0), "");
  EXPECT_FALSE(model.isVague());
}

}  // namespace
}  // namespace troupe::sim
