#include "test/simulation/work_floor.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace troupe::sim {

namespace {

double inSeconds(Duration time) { return std::chrono::duration<double>(time).count(); }

/// A session that is busy leaves some of them out, as the floor does.
double operationsAskedForIn(const Scenario& scenario) {
  double asked = 0;
  for (const WorkSpec& work : scenario.workloads)
    if (isOfSessions(work.kind))
      asked += 2 * inSeconds(scenario.faultsEndAfter) / (inSeconds(work.every.least) + inSeconds(work.every.most));
  return asked;
}

}  // namespace

bool isOfSessions(WorkKind kind) {
  switch (kind) {
    case WorkKind::kRegisters:
    case WorkKind::kLists:
    case WorkKind::kItems:
    case WorkKind::kCounters:
    case WorkKind::kSchemaChanges:
    case WorkKind::kTransfers: return true;
    default: return false;
  }
}

std::string WorkFloor::whyTooFew(uint64_t done, uint64_t begun, const std::string& kind) const {
  const bool isEnough = begun < kOften || static_cast<double>(done) >= ofBegun * static_cast<double>(begun);
  return isEnough ? "" : fmt::format("{} of {} {}", done, begun, kind);
}

/// Rounded down: of a scenario that asks for few operations none has to be done.
std::string WorkFloor::whyTooFew(const Scenario& scenario, uint64_t done) const {
  const double asked = operationsAskedForIn(scenario), least = std::floor(ofRate * asked);
  if (static_cast<double>(done) >= least) return {};
  return fmt::format("{} operations of sessions in {} s, of about {:.0f} that the scenario asks for", done,
                     inSeconds(scenario.faultsEndAfter), asked);
}

}  // namespace troupe::sim
