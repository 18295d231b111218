#include "state_machines/replication/positions.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace troupe::replication {

namespace {

Position positionOf(const Positions& positions, const NodeName& host) {
  const auto found = positions.find(host);
  return found == positions.end() ? Position{} : found->second;
}

const OpTime& reached(const Position& position, bool durably) { return durably ? position.durable : position.applied; }

bool holdsData(const MemberConfig& member) { return !member.arbiterOnly; }

/// Absent when there is no such mode.
bson::Element modeOf(const ReplicaSetConfig& config, const std::string& mode) {
  const bson::Element found = config.settings.getLastErrorModes.view()[mode];
  return found.is(bson::Type::kDocument) ? found : bson::Element();
}

/// How many values of the tag the members have that `counts`.
int64_t valuesOf(const ReplicaSetConfig& config, std::string_view tag,
                 const std::function<bool(const MemberConfig&)>& counts) {
  std::set<std::string_view> values;
  for (const MemberConfig& member : config.members) {
    const auto value = member.tags.find(std::string(tag));
    if (holdsData(member) && value != member.tags.end() && counts(member)) values.insert(value->second);
  }
  return static_cast<int64_t>(values.size());
}

/// Of a mode that asks for nobody, which configs of earlier servers may have, the answer is no.
bool everyTag(const ReplicaSetConfig& config, const std::string& mode,
              const std::function<bool(const MemberConfig&)>& counts) {
  const bson::Element found = modeOf(config, mode);
  const bson::View tags = found ? found.asDocument() : bson::View();
  return !tags.empty() && std::ranges::all_of(tags, [&](const bson::Element& tag) {
    const auto wanted = valuesWanted(tag);
    return wanted && valuesOf(config, tag.name(), counts) >= *wanted;
  });
}

}  // namespace

OpTime commitPoint(const ReplicaSetConfig& config, const Positions& positions, int64_t term, const OpTime& present) {
  std::vector<OpTime> held;
  for (const MemberConfig& member : config.members)
    if (member.isVoter() && holdsData(member))
      held.push_back(reached(positionOf(positions, member.host), config.writeConcernMajorityJournalDefault));
  const auto wanted = static_cast<size_t>(config.writeMajority());
  if (wanted == 0 || held.size() < wanted) return present;
  std::ranges::sort(held, std::greater<>());
  const OpTime& ofMajority = held[wanted - 1];
  return ofMajority.term == term ? std::max(ofMajority, present) : present;
}

OpTime learnedFromSource(const OpTime& told, const OpTime& applied, const OpTime& present) {
  return told.term > applied.term ? present : std::max(present, std::min(told, applied));
}

OpTime learnedFromHeartbeat(const OpTime& told, const OpTime& applied, const OpTime& present) {
  return told.term == applied.term ? std::max(present, told) : present;
}

OpTime learnedByArbiter(const OpTime& told, const OpTime& present) { return std::max(present, told); }

Status checkSatisfiable(const ReplicaSetConfig& config, const Acknowledgement& wanted) {
  if (wanted.mode) {
    if (!modeOf(config, *wanted.mode))
      return {ErrorCode::kUnknownReplWriteConcern,
              "No write concern mode named '" + *wanted.mode + "' found in replica set configuration"};
    if (everyTag(config, *wanted.mode, [](const auto&) { return true; })) return Status::OK();
    return {ErrorCode::kUnsatisfiableWriteConcern,
            "Not enough nodes match write concern mode \"" + *wanted.mode + "\""};
  }
  if (wanted.majority || wanted.members <= std::ranges::count_if(config.members, holdsData)) return Status::OK();
  return {ErrorCode::kUnsatisfiableWriteConcern, "Not enough data-bearing nodes"};
}

bool isOfCommitPoint(const ReplicaSetConfig& config, const Acknowledgement& wanted) {
  return wanted.majority && (!wanted.journaled || config.writeConcernMajorityJournalDefault);
}

bool isSatisfied(const ReplicaSetConfig& config, const Positions& positions, const OpTime& committed,
                 const OpTime& write, const Acknowledgement& wanted) {
  const auto has = [&](const MemberConfig& member) {
    return holdsData(member) && reached(positionOf(positions, member.host), wanted.journaled) >= write;
  };
  if (isOfCommitPoint(config, wanted)) return committed >= write;
  if (wanted.majority) {
    const auto votesAndHas = [&](const MemberConfig& member) { return member.isVoter() && has(member); };
    return committed >= write && std::ranges::count_if(config.members, votesAndHas) >= config.writeMajority();
  }
  if (wanted.mode) return everyTag(config, *wanted.mode, has);
  return std::ranges::count_if(config.members, has) >= wanted.members;
}

}  // namespace troupe::replication
