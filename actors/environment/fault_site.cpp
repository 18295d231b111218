#include "actors/environment/fault_site.hpp"

#include <algorithm>

namespace troupe {

namespace {
/// Sites are made before `main`, in any order: the list needs no constructor.
const FaultSite* lastSite = nullptr;
}  // namespace

FaultSite::FaultSite(const char* name, double most, const char* meaning) noexcept
    : name_(name), most_(most), meaning_(meaning), next_(lastSite) {
  lastSite = this;
}

std::vector<const FaultSite*> FaultSite::all() {
  std::vector<const FaultSite*> sites;
  for (const FaultSite* site = lastSite; site; site = site->next_) sites.push_back(site);
  std::sort(sites.begin(), sites.end(), [](const auto* a, const auto* b) { return a->name() < b->name(); });
  return sites;
}

const FaultSite* FaultSite::find(std::string_view name) {
  for (const FaultSite* site = lastSite; site; site = site->next_)
    if (site->name() == name) return site;
  return nullptr;
}

}  // namespace troupe
