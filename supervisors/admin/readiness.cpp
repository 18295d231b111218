#include "supervisors/admin/readiness.hpp"

#include <string>

namespace troupe::supervisors {

namespace {

using replication::MemberState;

bool refusesClients(MemberState state) {
  switch (state) {
    case MemberState::kStartup2:
    case MemberState::kRecovering:
    case MemberState::kRollback:
    case MemberState::kRemoved: return true;
    default: return false;
  }
}

}  // namespace

Status readinessOf(const Node& node, const replication::Membership* membership) {
  const auto listener = node.registry().row("/node/front/listener");
  if (!listener || listener->phase != "listening")
    return {ErrorCode::kHostUnreachable,
            listener ? "the listener is " + listener->phase : "the listener has not started"};
  if (!membership) return Status::OK();
  const MemberState state = membership->view()->state();
  if (!refusesClients(state)) return Status::OK();
  return {ErrorCode::kNotPrimaryOrSecondary,
          "the member is in the state " + std::string(machines::EnumNames<MemberState>::name(state))};
}

}  // namespace troupe::supervisors
