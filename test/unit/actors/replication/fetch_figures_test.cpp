#include "actors/replication/fetch_figures.hpp"

#include <gtest/gtest.h>

namespace troupe::replication::test {
namespace {

using namespace std::chrono_literals;

machines::Outcome<Fetching> outcomeOf(machines::Effect<Fetching> effect, const NodeName& source = {}) {
  machines::Outcome<Fetching> outcome;
  outcome.next.memory.source = source;
  outcome.effects.push_back(std::move(effect));
  return outcome;
}
void count(FetchFigures& figures, const machines::Outcome<Fetching>& outcome) { figures.count(outcome.next, outcome); }
machines::Outcome<Fetching> chooses(const NodeName& source) {
  return outcomeOf(machines::Do<Fetching>{Probe{}}, source);
}
machines::Outcome<Fetching> waits(Fetching::Event event) {
  return outcomeOf(machines::Arm<Fetching>{std::move(event), 1s});
}

TEST(FetchFigures, CountChoicesByWhatCameOfThem) {
  FetchFigures figures;
  count(figures, chooses("a:1"));
  count(figures, chooses("a:1"));
  count(figures, chooses("b:1"));
  count(figures, waits(RetryDue{}));
  count(figures, chooses("b:1"));
  const auto values = figures.get();
  EXPECT_EQ(values.selections, 5);
  EXPECT_EQ(values.choseDifferent, 2) << "the first one, too";
  EXPECT_EQ(values.choseSame, 2) << "also after none was found";
  EXPECT_EQ(values.foundNone, 1);
}

TEST(FetchFigures, ADenialIsNoChoice) {
  FetchFigures figures;
  count(figures, waits(DenialOver{"a:1"}));
  count(figures, outcomeOf(machines::Do<Fetching>{EndFetch{}}));
  EXPECT_EQ(figures.get().selections, 0);
}

}  // namespace
}  // namespace troupe::replication::test
