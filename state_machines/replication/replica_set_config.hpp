#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/description/description.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/core/step.hpp"
#include "state_machines/replication/set_identity.hpp"

namespace troupe::replication {

using machines::Millis;
using machines::NodeName;

/// One member of a replica set, as operators configure it.
struct MemberConfig {
  int32_t id = 0;
  NodeName host;             ///< "host:port"; by this name all members know it
  double priority = 1;       ///< 0: never primary; the highest one is primary if it can
  int32_t votes = 1;         ///< 0 or 1
  bool arbiterOnly = false;  ///< votes, holds no data, never primary
  bool hidden = false;       ///< not shown to drivers
  bool buildIndexes = true;
  int64_t secondaryDelaySecs = 0;
  std::map<std::string, std::string> tags;

  bool isVoter() const { return votes > 0; }
  bool isElectable() const { return priority > 0 && !arbiterOnly; }
  bool operator==(const MemberConfig&) const = default;
};

/// Milliseconds in a config, where they are 32 bits wide.
using ConfigMillis = std::chrono::duration<int32_t, std::milli>;

struct ReplicaSetSettings {
  ReplicaSetSettings();  // in the source: inlined, g++ 12 warns of its empty documents

  bool chainingAllowed = true;
  ConfigMillis heartbeatIntervalMillis{2000};
  int32_t heartbeatTimeoutSecs = 10;
  ConfigMillis electionTimeoutMillis{10'000};
  ConfigMillis catchUpTimeoutMillis{-1};  ///< how long a new primary may catch up; -1: without a limit, 0: not at all
  ConfigMillis catchUpTakeoverDelayMillis{30'000};  ///< -1: never
  bson::Document getLastErrorModes;
  bson::Document getLastErrorDefaults;
  ReplicaSetId replicaSetId;  ///< drawn by replSetInitiate; the same in all configs of a set
  bool operator==(const ReplicaSetSettings&) const = default;
};

/// Which of two configs of a set is newer: the one of the later term, then the one of the higher version. A forced
/// config has no term and is compared by its version alone.
struct ConfigVersion {
  static constexpr int64_t kNoTerm = -1;
  int64_t version = 0;  ///< 0: no config
  int64_t term = kNoTerm;

  bool isNewerThan(const ConfigVersion& other) const {
    if (term == other.term || term == kNoTerm || other.term == kNoTerm) return version > other.version;
    return term > other.term;
  }
  bool operator==(const ConfigVersion&) const = default;
};

/// The members of a replica set and how they deal with each other. A value that `parse` or the rules of reconfiguration
/// have accepted. Its fields, described below, are those of the document that operators write and are shown (ELE-037),
/// that local.system.replset holds and that members send each other.
struct ReplicaSetConfig {
  static constexpr size_t kMaxMembers = 50;
  static constexpr int kMaxVoters = 7;
  static constexpr int64_t kProtocolVersion = 1;
  /// The highest version that an operator may choose: tools hold it in 32 bits. The successor of a config that has it,
  /// or that was forced, has a higher one.
  static constexpr int64_t kMaxChosenVersion = std::numeric_limits<int32_t>::max();
  /// Below it a version can be raised without an overflow. Only configs of earlier servers have more.
  static constexpr int64_t kMaxVersion = std::numeric_limits<int64_t>::max() / 2;

  std::string id;  ///< the name of the set
  int64_t version = 1;
  int64_t term = ConfigVersion::kNoTerm;  ///< of the primary that installed it
  std::vector<MemberConfig> members;
  std::optional<bool> configsvr;  ///< whether the set holds the metadata of a sharded cluster; absent: it does not
  int64_t protocolVersion = kProtocolVersion;
  bool writeConcernMajorityJournalDefault = true;
  ReplicaSetSettings settings;

  /// Reads a config as replSetInitiate is given it, strictly, and validates it. Left out fields
  /// get their defaults, an arbiter the priority 0. Errors: TypeMismatch, UnknownField, MissingRequiredField,
  /// InvalidReplicaSetConfig (also for a number out of range); each names the field.
  static StatusWith<ReplicaSetConfig> parse(bson::View document);
  /// The same for replSetReconfig. Two members with one host, as adding one that is there already makes them, give
  /// NewReplicaSetConfigurationIncompatible.
  static StatusWith<ReplicaSetConfig> parseSuccessor(bson::View document);
  /// The rules that a config has to keep by itself. Errors: InvalidReplicaSetConfig.
  Status validate() const;
  bool isConfigServer() const { return configsvr.value_or(false); }
  ConfigVersion configVersion() const { return {version, term}; }
  /// Null if that node is no member.
  const MemberConfig* member(const NodeName& host) const;
  bool has(const NodeName& host) const { return member(host) != nullptr; }
  int voters() const;
  /// How many votes win an election.
  int majority() const { return voters() / 2 + 1; }
  /// How many data-bearing voters make a write safe: a majority, or all of them if arbiters make them fewer.
  int writeMajority() const;
  /// How many members have a higher priority than this one.
  int priorityRank(const NodeName& host) const;
  /// The only member that may become primary and vote for it: such a node elects itself at once.
  bool isOnlyVoter(const NodeName& host) const;
  /// The time between two heartbeats: the configured one, but at least two in an election timeout.
  Millis heartbeatInterval() const;

  bool operator==(const ReplicaSetConfig&) const = default;
};

/// How many values of a tag a mode of settings.getLastErrorModes asks for: a whole number from 1 on. Nothing where it
/// is none, as in configs of earlier servers.
std::optional<int64_t> valuesWanted(const bson::Element& tag);

/// Whether `next` may follow `present`: the same set, the same identity, a higher version that leaves room for others;
/// unless `force`, also at most one voting member added or taken away, so that any majority of the one and any of the
/// other have a member in common. Errors: NewReplicaSetConfigurationIncompatible, InvalidReplicaSetConfig.
Status checkSuccessor(const ReplicaSetConfig& present, const ReplicaSetConfig& next, bool force);

}  // namespace troupe::replication

TROUPE_DESCRIBE(troupe::replication::MemberConfig, 0, id, host, arbiterOnly, buildIndexes, hidden, priority, tags,
                secondaryDelaySecs, votes)
TROUPE_DESCRIBE(troupe::replication::ReplicaSetSettings, 0, chainingAllowed, heartbeatIntervalMillis,
                heartbeatTimeoutSecs, electionTimeoutMillis, catchUpTimeoutMillis, catchUpTakeoverDelayMillis,
                getLastErrorModes, getLastErrorDefaults, replicaSetId)
TROUPE_DESCRIBE(troupe::replication::ConfigVersion, 0, version, term)
TROUPE_DESCRIBE(troupe::replication::ReplicaSetConfig, 0, id, version, term, members, configsvr, protocolVersion,
                writeConcernMajorityJournalDefault, settings)
