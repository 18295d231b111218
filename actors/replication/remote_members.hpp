#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "actors/kernel/task.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/clock/time_point.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/core/step.hpp"

namespace troupe::replication {

using machines::NodeName;

/// Documents that another member sends in batches, as a find, a tailing find or an aggregation gives them. Used by one
/// task at a time; destroying it ends the read on the other member.
class RemoteDocuments {
 public:
  virtual ~RemoteDocuments() = default;
  /// The next documents, valid until the next call. Empty: the end; of a read that tails, which ends only with an
  /// error: nothing has come for a while (a second), or to begin with, and the next call waits again. Errors: those of
  /// getMore (CappedPositionLost, CursorNotFound ...); HostUnreachable.
  virtual Task<StatusWith<std::vector<bson::View>>> next() = 0;
  /// Behind the last batch, of a find that has asked for it (`$_requestResumeToken`): `$_startAt` of another one.
  /// Empty: there is none. Until the next call of `next`.
  virtual bson::View resumeToken() const { return {}; }
};

/// The way to the data of other members, with the rights of the cluster itself. Replication is given it by the assembly
/// (links and remote cursors lie above this room), tests give a set of their own. Any thread; outlives the actors that
/// use it.
class RemoteMembers {
 public:
  virtual ~RemoteMembers() = default;
  /// The reply of a command there. Errors: the command's; HostUnreachable; MaxTimeMSExpired after `timeout`.
  virtual Task<StatusWith<bson::Document>> run(NodeName member, std::string database, bson::Document command,
                                               Duration timeout) = 0;
  /// The documents of a find or an aggregation there. `credit`: bytes that may be on the way or wait unread.
  virtual Task<StatusWith<std::unique_ptr<RemoteDocuments>>> read(NodeName member, std::string database,
                                                                  bson::Document command, size_t credit) = 0;
};

}  // namespace troupe::replication
