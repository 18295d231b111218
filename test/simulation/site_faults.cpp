#include "test/simulation/site_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::sim {

bool isMeant(std::string_view site, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return site == pattern;
    return site.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

SiteFaults::SiteFaults(const Scenario& scenario, Simulation& cluster, uint64_t seed)
    : scenario_(scenario), cluster_(cluster), random_(seed ^ 0x517e517e517e517eull) {
  for (const std::string& node : cluster.nodes()) nodes_.try_emplace(node, *this, node);
  cluster.eachLife([this](const std::string& node, NodeLife& life) { life.time().setFaults(&nodes_.at(node)); });
}

SiteFaults::~SiteFaults() {
  cluster_.eachLife([](const std::string&, NodeLife& life) { life.time().setFaults(nullptr); });
}

/// Probabilities are drawn by their magnitude, and are no larger than what a site bears.
void SiteFaults::begin() {
  if (!scenario_.sites) return;
  const SiteSpec& spec = *scenario_.sites;
  for (const FaultSite* site : FaultSite::all()) {
    if (!isMeant(site->name(), spec.names)) continue;
    const bool isActive = share(random_) < spec.share;
    const double most = std::min(spec.most, site->most()), least = std::min(spec.least, most);
    const double probability = least * std::pow(most / least, share(random_));
    if (!isActive) continue;
    active_[site] = probability;
    cluster_.note(TraceEvent::Kind::kFault, "", "chance", "arms",
                  fmt::format("{} with {:.3f} %", site->name(), 100 * probability));
  }
}

bool SiteFaults::fires(const FaultSite& site, const std::string& node) {
  const auto found = active_.find(&site);
  if (found == active_.end() || share(random_) >= found->second) return false;
  ++fired_[site.name()];
  cluster_.note(TraceEvent::Kind::kFault, node, "chance", "fires", std::string(site.name()));
  return true;
}

}  // namespace troupe::sim
