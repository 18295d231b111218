#include "state_machines/replication/sync_source.hpp"

#include <algorithm>

namespace troupe::replication {

namespace {

bool servesData(const SourceCandidate& candidate) {
  return candidate.state == MemberState::kPrimary || candidate.state == MemberState::kSecondary;
}

bool isBehindBy(const OpTime& behind, const OpTime& ahead, int64_t seconds) {
  return int64_t{ahead.timestamp.seconds} - int64_t{behind.timestamp.seconds} > seconds;
}

/// Strictly ahead, so that two members never follow each other; a primary follows nobody, and may be as far as this
/// one.
bool isAhead(const Candidates& known, const SourceCandidate& candidate) {
  if (candidate.applied == OpTime()) return false;
  return candidate.host == known.primary ? candidate.applied >= known.own : candidate.applied > known.own;
}

bool mayBeSource(const Candidates& known, const SourceCandidate& candidate, Mission mission) {
  if (!servesData(candidate) || !isAhead(known, candidate)) return false;
  if (known.self.buildsIndexes && !candidate.traits.buildsIndexes) return false;
  return known.chainingAllowed || mission == Mission::kCatchUp || candidate.host == known.primary;
}

bool isPreferred(const Candidates& known, const SourceCandidate& candidate) {
  if (candidate.host == known.primary) return true;
  const SourceTraits &self = known.self, &other = candidate.traits;
  if (other.hidden || (self.votes && !other.votes)) return false;
  if (other.delaySecs > 0 && other.delaySecs >= self.delaySecs) return false;
  const SourceCandidate* primary = known.find(known.primary);
  return !primary || !isBehindBy(candidate.applied, primary->applied, known.maxLagSecs);
}

/// Whether the candidate's entries behind this member's newest one may be of a branch that the primary does not have:
/// members that have rolled back would fetch it from each other again.
bool mayBeCutOff(const Candidates& known, const SourceCandidate& candidate) {
  if (known.primary.empty() || candidate.host == known.primary) return false;
  return known.own.term < known.term && candidate.applied.term < known.term;
}

/// Nothing will come to it, unless its source is this member.
bool hasNoOtherSource(const Candidates& known, const SourceCandidate& candidate) {
  return candidate.syncsFrom && (candidate.syncsFrom->empty() || *candidate.syncsFrom == known.name);
}

/// A source that could be chosen now and has far more than `applied`; null: none.
const SourceCandidate* farAheadOf(const Candidates& known, const OpTime& applied, const std::set<NodeName>& denied,
                                  Mission mission) {
  for (const SourceCandidate& other : known.members)
    if (!denied.contains(other.host) && mayBeSource(known, other, mission) &&
        isBehindBy(applied, other.applied, known.maxLagSecs))
      return &other;
  return nullptr;
}

/// The members to choose from, the most preferred ones alone. None of them is one that `whyToChangeSource` would have
/// changed again at once.
std::vector<const SourceCandidate*> sources(const Candidates& known, const std::set<NodeName>& denied,
                                            Mission mission) {
  std::vector<const SourceCandidate*> all, preferred, ofTheTerm;
  for (const SourceCandidate& candidate : known.members) {
    if (denied.contains(candidate.host) || !mayBeSource(known, candidate, mission)) continue;
    if (farAheadOf(known, candidate.applied, denied, mission)) continue;
    all.push_back(&candidate);
    if (!isPreferred(known, candidate)) continue;
    preferred.push_back(&candidate);
    if (!mayBeCutOff(known, candidate)) ofTheTerm.push_back(&candidate);
  }
  if (!ofTheTerm.empty()) return ofTheTerm;
  return preferred.empty() ? all : preferred;
}

}  // namespace

const SourceCandidate* Candidates::find(const NodeName& host) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.host == host; });
  return found == members.end() ? nullptr : &*found;
}

std::optional<NodeName> chooseSource(const Candidates& known, const std::set<NodeName>& denied, Mission mission) {
  const auto found = sources(known, denied, mission);
  const auto nearest =
      std::min_element(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->ping < b->ping; });
  if (nearest == found.end()) return std::nullopt;
  return (*nearest)->host;
}

std::vector<NodeName> acceptableSources(const Candidates& known, Mission mission) {
  std::vector<NodeName> hosts;
  for (const SourceCandidate& candidate : known.members)
    if (mayBeSource(known, candidate, mission)) hosts.push_back(candidate.host);
  return hosts;
}

Status checkRequestedSource(const Candidates& known, const NodeName& host) {
  const SourceCandidate* candidate = known.find(host);
  if (!candidate) return {ErrorCode::kInvalidOptions, host + " is no other member of this set"};
  if (candidate->state == MemberState::kArbiter)
    return {ErrorCode::kInvalidOptions, "cannot sync from " + host + ": it is an arbiter"};
  if (known.self.buildsIndexes && !candidate->traits.buildsIndexes)
    return {ErrorCode::kInvalidOptions, "cannot sync from " + host + ": it does not build indexes"};
  if (!servesData(*candidate))
    return {ErrorCode::kHostUnreachable, "cannot sync from " + host + ": it is " +
                                             std::string(machines::EnumNames<MemberState>::name(candidate->state))};
  return Status::OK();
}

std::string whyToChangeSource(const Candidates& known, const PresentSource& source, const std::set<NodeName>& denied,
                              Mission mission) {
  const SourceCandidate* present = known.find(source.host);
  if (!present) return "it is no longer a member";
  if (!servesData(*present)) return "it is " + std::string(machines::EnumNames<MemberState>::name(present->state));
  const bool isPrimary = source.host == known.primary;
  if (!known.chainingAllowed && !isPrimary && !known.primary.empty() && mission == Mission::kFollow &&
      !source.isRequested)
    return "chaining is not allowed, and it is not the primary";
  if (!isPrimary && !source.isRequested && present->applied <= known.own && hasNoOtherSource(known, *present))
    return "it is not ahead of this member, and has no source itself, or this one";
  if (source.isRequested && !source.found) return {};  // its probe will tell how far it is
  const OpTime newest = std::max(present->applied, source.found.value_or(OpTime()));
  if (newest == OpTime()) return {};
  const SourceCandidate* better = farAheadOf(known, newest, denied, mission);
  return better ? "it is too far behind " + better->host : std::string();
}

}  // namespace troupe::replication
