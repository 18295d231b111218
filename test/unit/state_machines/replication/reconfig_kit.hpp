#pragma once
#include "state_machines/replication/reconfiguration.hpp"
#include "test/unit/state_machines/replication/member_kit.hpp"

/// What the tests of changes of the config are written with.
namespace troupe::replication::test {

inline ReplicaSetConfig nextOf(ReplicaSetConfig config = kConfig) {
  ++config.version;
  return config;
}
inline ReplicaSetConfig withMember(ReplicaSetConfig config, const NodeName& host) {
  MemberConfig m;
  m.id = 9;
  m.host = host;
  config.members.push_back(m);
  return config;
}
inline Report reportOf(const Snapshot<Topology>& now) {
  Report report;
  report.from = now.document.self;
  report.term = now.memory.term;
  if (now.document.config) report.config = now.document.config->configVersion();
  return report;
}
inline ErrorCode refusalIn(const Outcome& out) { return answered(out) ? answered(out)->code() : ErrorCode::kOK; }

inline ReplicaSetConfig ofOne() {
  ReplicaSetConfig config = kConfig;
  config.members.resize(1);
  return config;
}
/// Entries are counted by the present config from now on, and up to `newest` may have been committed before.
inline Outcome inUse(const Outcome& out, const OpTime& newest = {}) {
  return when(out.next, ConfigInUse{out.next.document.config->configVersion(), newest});
}
inline ConfigChange::Stage stageOf(const Outcome& out) { return out.next.memory.change.value().stage; }
inline constexpr auto reconfigOutcome = [](Cluster& set, const NodeName& node) {
  return set.concluded(node, OpenCommand::kReconfig);
};

}  // namespace troupe::replication::test
