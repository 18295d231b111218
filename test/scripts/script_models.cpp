#include "test/scripts/script_models.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "test/model/subjects/election.hpp"
#include "test/model/subjects/fetching.hpp"
#include "test/model/subjects/initial_sync.hpp"
#include "test/model/subjects/lease.hpp"
#include "test/model/subjects/rollback.hpp"
#include "test/model/subjects/session_life.hpp"

namespace troupe::model {

namespace {

Model electionsOf(std::vector<replication::MemberConfig> members) {
  Model model = elections({.members = std::move(members), .terms = 1000});
  model.network = Network::kFaulty;
  for (const auto& node : model.nodes()) model.client<replication::Topology>(node, replication::StepUp{}, kAnyNumber);
  return model;
}

Model named(const std::string& name) {
  if (name == "elections") return electionsOf(votingMembers(3));
  if (name == "arbiter") {
    auto members = votingMembers(3);
    members[2].arbiterOnly = true;
    members[2].priority = 0;
    return electionsOf(std::move(members));
  }
  if (name == "lease") return leaseHandoffs(false);
  if (name == "rollback") return rollbacks({}, kAnyNumber);
  if (name == "fetching") return fetchingOf({.mission = replication::Mission::kNothing});
  if (name == "initial-sync") return initialSyncs();
  if (name == "sessions") {
    SessionWorld world = parentAndChild();
    world.kills = world.edits = world.reaps = kAnyNumber;
    return sessionFamily(world);
  }
  throw std::invalid_argument("no such model: " + name);
}

}  // namespace

Model scriptModel(const std::string& name) {
  Model model = named(name);
  model.faults = {.crashes = kAnyNumber, .losses = kAnyNumber, .duplications = kAnyNumber};
  model.bounds.inFlight = 40;
  model.hide({"self", "setName", "config", "applied", "leaderless", "replicaSetId", "arrivals", "endedBefore"});
  return model;
}

std::vector<std::string> scriptFiles() {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator("test/scripts"))
    if (file.path().extension() == ".txt" && file.path().filename() != "CMakeLists.txt")
      files.push_back(file.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string contentsOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace troupe::model
