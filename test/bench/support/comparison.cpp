#include "test/bench/support/comparison.hpp"

#include <algorithm>

namespace troupe::bench {

namespace {

struct Rounds {
  std::vector<double> rates, micros;

  void run(const Side& side) {
    const Measured measured = side.round();
    rates.push_back(measured.perSecond);
    micros.push_back(measured.cpuMicros);
  }
};

}  // namespace

void compare(const std::string& work, const std::string& unit, int rounds, const Side& ours,
             const std::vector<Side>& others) {
  Rounds mine;
  std::vector<Rounds> theirs(others.size());
  for (int i = 0; i < rounds; ++i) {
    mine.run(ours);
    for (size_t other = 0; other < others.size(); ++other) theirs[other].run(others[other]);
  }
  for (size_t other = 0; other < others.size(); ++other) {
    const Side& side = others[other];
    std::vector<double> ratios;
    for (size_t i = 0; i < mine.rates.size(); ++i) ratios.push_back(mine.rates[i] / theirs[other].rates[i]);
    const auto [lowest, highest] = std::minmax_element(ratios.begin(), ratios.end());
    report({.work = work,
            .against = side.name,
            .unit = unit + "/s",
            .troupe = median(mine.rates),
            .reference = median(theirs[other].rates),
            .floor = side.floor,
            .details = {{"ratioLowest", *lowest}, {"ratioHighest", *highest}}});
  }
  for (size_t other = 0; other < others.size(); ++other) {
    report({.work = work + ": processor time",
            .against = others[other].name,
            .unit = "us/" + unit.substr(0, unit.size() - 1),
            .troupe = median(mine.micros),
            .reference = median(theirs[other].micros),
            .ceiling = others[other].ceiling});
  }
}

}  // namespace troupe::bench
