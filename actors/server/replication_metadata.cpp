#include "actors/server/replication_metadata.hpp"

#include <algorithm>

#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/clock/shown_op_time.hpp"

namespace troupe::server {

namespace {

using replication::MemberState;
using replication::NodeName;
using replication::ReplicaSetConfig;
using replication::ReplicaView;

constexpr int32_t kNobody = -1;

/// The place in the config.
int32_t indexOf(const ReplicaSetConfig& config, const NodeName& host) {
  const auto found = std::ranges::find(config.members, host, [](const auto& member) { return member.host; });
  return found == config.members.end() ? kNobody : static_cast<int32_t>(found - config.members.begin());
}

bson::Document replicaSetData(const ServerContext& server, const ReplicaView& view) {
  const ReplicaSetConfig& config = *view.config();
  const OpTime committed = server.progress->commitPoint();
  bson::Builder out;
  out.append("term", view.topology.memory.term);
  out.append("lastOpCommitted", shownOpTime(committed))
      .append("lastCommittedWall", server.progress->dates().of(committed));
  out.append("lastOpVisible", shownOpTime(std::min(committed, server.progress->applied())));
  out.append("configVersion", config.configVersion().version).append("configTerm", config.configVersion().term);
  if (const auto& id = config.settings.replicaSetId) out.append("replicaSetId", *id);
  out.append("syncSourceIndex", indexOf(config, server.membership->syncSource()));
  out.append("isPrimary", view.state() == MemberState::kPrimary);
  return out.finish();
}

bson::Document oplogQueryData(const ServerContext& server, const ReplicaView& view) {
  const OpTime committed = server.progress->commitPoint();
  const NodeName source = server.membership->syncSource();
  bson::Builder out;
  out.append("lastOpCommitted", shownOpTime(committed))
      .append("lastCommittedWall", server.progress->dates().of(committed));
  out.append("lastOpApplied", shownOpTime(server.progress->applied()));
  out.append("rbid", static_cast<int32_t>(server.membership->rollbackId()));
  out.append("primaryIndex", indexOf(*view.config(), view.primary()));
  out.append("syncSourceIndex", indexOf(*view.config(), source)).append("syncSourceHost", source);
  return out.finish();
}

}  // namespace

void appendReplicationMetadata(Request& request) {
  const ServerContext& server = request.server();
  if (!server.membership || !server.progress) return;
  const bool wantsSet = static_cast<bool>(request.arg("$replData"));
  const bool wantsLog = static_cast<bool>(request.arg("$oplogQueryData"));
  if (!(wantsSet || wantsLog)) return;
  const auto view = server.membership->view();
  if (!view->config()) return;
  if (wantsSet) request.reply().append("$replData", replicaSetData(server, *view));
  if (wantsLog) request.reply().append("$oplogQueryData", oplogQueryData(server, *view));
}

}  // namespace troupe::server
