#include "actors/replication/fetch_figures.hpp"

#include <gtest/gtest.h>

namespace troupe::replication::test {
namespace {

using namespace std::chrono_literals;

machines::Outcome<Fetching> outcomeOf(machines::Effect<Fetching> effect) {
  machines::Outcome<Fetching> outcome;
  outcome.effects.push_back(std::move(effect));
  return outcome;
}
machines::Outcome<Fetching> chooses(const NodeName& source) { return outcomeOf(machines::Do<Fetching>{Probe{source}}); }
machines::Outcome<Fetching> waits(Fetching::Event event) {
  return outcomeOf(machines::Arm<Fetching>{std::move(event), 1s});
}

TEST(FetchFigures, CountChoicesByWhatCameOfThem) {
  FetchFigures figures;
  figures.count(chooses("a:1"));
  figures.count(chooses("a:1"));
  figures.count(chooses("b:1"));
  figures.count(waits(RetryDue{}));
  figures.count(chooses("b:1"));
  const auto values = figures.get();
  EXPECT_EQ(values.selections, 5);
  EXPECT_EQ(values.choseDifferent, 2) << "the first one, too";
  EXPECT_EQ(values.choseSame, 2) << "also after none was found";
  EXPECT_EQ(values.foundNone, 1);
}

TEST(FetchFigures, ADenialIsNoChoice) {
  FetchFigures figures;
  figures.count(waits(DenialOver{"a:1"}));
  figures.count(outcomeOf(machines::Do<Fetching>{EndFetch{}}));
  EXPECT_EQ(figures.get().selections, 0);
}

}  // namespace
}  // namespace troupe::replication::test
