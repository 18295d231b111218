#include "actors/replication/source_candidates.hpp"

#include <algorithm>

namespace troupe::replication {

namespace {

SourceTraits traitsOf(const MemberConfig& member) {
  return {member.isVoter(), member.buildIndexes, member.hidden, member.secondaryDelaySecs};
}

SourceCandidate candidateOf(const MemberConfig& member, const ReplicaView& view, const Positions& positions) {
  SourceCandidate candidate;
  candidate.host = member.host;
  candidate.traits = traitsOf(member);
  for (const MemberView& heard : view.topology.memory.members) {
    if (heard.host != member.host) continue;
    // One that refuses, as a node of another set does, is no source even before its last sign of life expires.
    const bool isMember = heard.isAlive() && heard.refusal.empty();
    candidate.state = isMember ? heard.state : MemberState::kDown;
    candidate.applied = heard.applied;
    if (heard.heard.contains(0)) candidate.syncsFrom = heard.source;
  }
  if (const auto at = positions.find(member.host); at != positions.end())
    candidate.applied = std::max(candidate.applied, at->second.applied);
  if (const auto contact = view.contacts.find(member.host); contact != view.contacts.end())
    candidate.ping = std::chrono::duration_cast<Millis>(contact->second.roundTrip);
  return candidate;
}

}  // namespace

Candidates candidatesOf(const ReplicaView& view, const Positions& positions, int64_t maxLagSecs) {
  Candidates known;
  known.maxLagSecs = maxLagSecs;
  const auto& config = view.config();
  const NodeName& self = view.topology.document.self;
  if (!config || !config->has(self)) return known;
  known.self = traitsOf(*config->member(self));
  known.chainingAllowed = config->settings.chainingAllowed;
  known.primary = view.primary();
  known.name = self;
  known.term = view.topology.memory.term;
  for (const MemberConfig& member : config->members)
    if (member.host != self) known.members.push_back(candidateOf(member, view, positions));
  return known;
}

}  // namespace troupe::replication
