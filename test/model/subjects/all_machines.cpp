#include "test/model/subjects/all_machines.hpp"

#include "test/model/subjects/clerk.hpp"
#include "test/model/subjects/commitment.hpp"
#include "test/model/subjects/election.hpp"
#include "test/model/subjects/fetching.hpp"
#include "test/model/subjects/initial_sync.hpp"
#include "test/model/subjects/lease.hpp"
#include "test/model/subjects/reconfig.hpp"
#include "test/model/subjects/rollback.hpp"
#include "test/model/subjects/session_life.hpp"
#include "test/model/subjects/tally.hpp"
#include "test/model/subjects/voting.hpp"

namespace troupe::model {

namespace {

using replication::Topology;
using TopologyPhase = Topology::Phase;

std::string whoIsPrimary(const machines::World& world) {
  int primaries = 0;
  world.each<Topology>([&](const NodeName&, bool alive, const auto& node) {
    primaries += alive && node.memory.phase == TopologyPhase::kPrimary ? 1 : 0;
  });
  return std::to_string(primaries) + " primary";
}

/// Three members elect one, with terms to spare for new attempts.
Sample election() {
  Sample sample{.type = "Topology", .node = "n1", .outcome = whoIsPrimary};
  sample.make = [] {
    Model model = elections({.members = votingMembers(3), .terms = 20, .standing = 1});
    model.network = Network::kFaulty;
    return model;
  };
  const char* other = "the elections of a running set do not go through it; see the tests of the machine";
  for (const char* phase : {"startup", "initiating", "removed", "arbiter", "stepping down"})
    sample.without.emplace_back(phase, other);
  return sample;
}

std::string whomItFollows(const machines::World& world) {
  std::string source = "nobody";
  world.each<replication::Fetching>(
      [&](const NodeName&, bool, const auto& now) { source = replication::syncSourceOf(now); });
  return source;
}

/// The nearest source turns out to have less than the member; then it follows the primary.
Sample fetching() {
  Sample sample{.type = "Fetching", .make = fetchingFromTheSecondChoice, .node = "n1", .outcome = whomItFollows};
  for (const char* phase : {"idle", "ending"})
    sample.without.emplace_back(phase, "a command leads there; see its model");
  for (const char* phase : {"diverged", "too stale", "needs initial sync"})
    sample.without.emplace_back(phase, "nothing of that kind happens here; see its model");
  return sample;
}

Sample handoff() {
  return {.type = "Handoff", .make = [] { return leaseHandoffs(false); }, .node = "c", .slot = 0};
}

Sample holderThatGives() {
  return {.type = "Holder", .make = [] { return leaseHandoffs(false); }, .node = "a", .slot = 1};
}

Sample holderThatTakes() {
  Sample sample{.type = "Holder", .make = [] { return leaseHandoffs(false); }, .node = "b", .slot = 2};
  sample.without = {{"draining", "the one that gives goes through it"}};
  return sample;
}

Sample teller() {
  Sample sample{.type = "Teller", .node = "a"};
  sample.make = [] {
    Model model;
    model.machine<tally::Teller>("a", {.to = "b", .phase = tally::Teller::Phase::kAsking});
    model.machine<tally::Tally>("b", {});
    return model;
  };
  sample.without = {{"idle", "a client's request that gets lost is the client's to repeat"},
                    {"refused", "nobody refuses here"}};
  return sample;
}

/// One rollback; a member that dies in it diverges again when it is back, unless its log was cut.
Sample rollback() {
  using replication::Rollback;
  Sample sample{.type = "Rollback", .node = "n1"};
  sample.make = [] {
    Model model = rollbacks({.comparing = {commonPointAt(6, 9, 4)}, .fails = false, .isTaken = false}, kAnyNumber);
    model.goal("a rollback is over", [](const machines::World& world) {
      return world.count<Rollback>([](const auto& now) {
        return now.memory.phase == Rollback::Phase::kFollowing && now.document.rollbackId > 1;
      }) > 0;
    });
    return model;
  };
  sample.outcome = [](const machines::World& world) {
    std::string phase;
    world.each<Rollback>([&](const NodeName&, bool, const auto& now) { phase = machines::phaseName<Rollback>(now); });
    return phase;
  };
  sample.without = {{"failed", "nothing fails here; see the tests of the machine"}};
  return sample;
}

/// The source of the first attempt has rolled back meanwhile; a node that dies begins anew.
Sample initialSync() {
  using replication::InitialSync;
  Sample sample{.type = "InitialSync", .make = initialSyncWithASecondAttempt, .node = "n1"};
  sample.outcome = [](const machines::World& world) {
    return std::string(hasItsData(world) ? "it has its data" : "it has none");
  };
  sample.without = {{"failed", "ten attempts would have to fail; see its model"},
                    {"idle", "it finds the mark of an earlier life; see the tests of the machine"},
                    {"returning", "it has no data to go back to; see its model"}};
  return sample;
}

/// A retryable write on the parent and a part of it in a child. Nothing is persisted: after a crash nobody has the
/// session, and nothing is known of it.
Sample sessionLife() {
  using sessions::SessionLife;
  Sample sample{.type = "SessionLife", .node = "n1"};
  sample.make = [] {
    Model model = sessionFamily(
        {.operations = {{.number = 1}, {.child = "u", .retryOf = 1}}, .kills = 0, .edits = 0, .reaps = 0});
    model.goal("all is over", {});  // not when it is free for the first time
    return model;
  };
  sample.outcome = [](const machines::World& world) {
    std::string phase;
    world.each<SessionLife>(
        [&](const NodeName&, bool, const auto& now) { phase = machines::phaseName<SessionLife>(now); });
    return phase;
  };
  sample.without = {{"ending", "nobody kills or edits it here; see its model"},
                    {"reaped", "nobody wants it to be forgotten here; see its model"}};
  return sample;
}

}  // namespace

std::vector<Sample> allSamples() {
  return {election(), handoff(),  holderThatGives(), holderThatTakes(), teller(),
          rollback(), fetching(), initialSync(),     sessionLife()};
}

std::vector<std::pair<std::string, Model>> allSubjects() {
  std::vector<std::pair<std::string, Model>> all;
  const auto add = [&all](std::string name, Model model) { all.emplace_back(std::move(name), std::move(model)); };
  add("catchUpFromSilentSources", catchUpFromSilentSources());
  add("catchUpFromFailingSources", catchUpFromFailingSources());
  add("clerkAndBook", clerk::clerkAndBook());
  add("elections", elections({.members = votingMembers(3)}));
  add("fetchingFromTheSecondChoice", fetchingFromTheSecondChoice());
  add("fetchingOf", fetchingOf({}));
  add("handoffs", handoffs());
  add("initialSyncWithASecondAttempt", initialSyncWithASecondAttempt());
  add("initialSyncs", initialSyncs());
  add("leaseHandoffs", leaseHandoffs(true));
  add("reconfigs", reconfig::reconfigs({.changes = reconfig::inTurn({{"a:1"}, {"a:1", "b:1"}})}));
  add("replicas", commitment::replicas({}));
  add("rollbacks", rollbacks());
  add("sessionFamily", sessionFamily(parentAndChild()));
  add("sleeper", clerk::sleeper());
  add("voters", voting::voters(3, 1));
  return all;
}

}  // namespace troupe::model
