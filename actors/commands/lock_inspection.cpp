// lockInfo; locks and tickets in currentOp, serverStatus and on the admin page.
#include "actors/commands/lock_inspection.hpp"

#include <map>
#include <optional>

#include "actors/commands/families.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/finished_operation.hpp"
#include "actors/server/request.hpp"

namespace troupe::commands {
using namespace server;

using storage::LockMode;
using storage::ResourceView;

namespace {

/// The clients whose operations hold or wait for locks, by the id of their locker.
std::map<uint64_t, bson::Document> lockClients(ServerContext& server) {
  std::map<uint64_t, bson::Document> clients;
  server.clients.each([&](Client& client) {
    client.withOperation([&](storage::OperationContext& operation) {
      if (const uint64_t locker = operation.lockerId()) {
        clients[locker] =
            bson::doc("desc", client.description(), "connectionId", client.connectionId, "client", client.remote,
                      "opid", operation.id(), "command", operation.commandName, "ns", operation.shownNs());
      }
    });
  });
  return clients;
}

class LockRow {
 public:
  LockRow(ServerContext& server, const std::map<uint64_t, bson::Document>& clients)
      : now_(server.node.environment().now()), clients_(clients) {}

  void append(bson::Builder& b, const ResourceView::Holder& holder) const {
    b.pushDocument().append("mode", storage::nameOf(holder.mode)).append("convertMode", "NONE");
    finish(b, holder.locker, holder.since);
  }
  void append(bson::Builder& b, const ResourceView::Waiter& waiter) const {
    const bool converts = waiter.from != LockMode::kNone;
    b.pushDocument()
        .append("mode", storage::nameOf(converts ? waiter.from : waiter.mode))
        .append("convertMode", storage::nameOf(converts ? waiter.mode : LockMode::kNone))
        .append("enqueueAtFront", waiter.atFront)
        .append("compatibleFirst", waiter.compatibleFirst);
    finish(b, waiter.locker, waiter.since);
  }

 private:
  void finish(bson::Builder& b, uint64_t locker, TimePoint since) const {
    b.append("lockerId", static_cast<int64_t>(locker))
        .append("micros",
                static_cast<int64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now_ - since).count()));
    if (const auto at = clients_.find(locker); at != clients_.end()) b.append("clientInfo", at->second);
    b.close();
  }
  const TimePoint now_;
  const std::map<uint64_t, bson::Document>& clients_;
};

Task<Status> lockInfo(Request& request) {
  request.reply().append("lockInfo", lockRows(request.server()));
  co_return Status::OK();
}

constexpr Argument kLockInfoArguments[] = {flagArg("includeStorageEngineDump")};

constexpr Command kLockCommands[] = {
    {.name = "lockInfo",
     .summary = "the locks that operations hold and wait for",
     .requirement = {Requirement::Target::kCluster, auth::Action::kServerStatus},
     .adminOnly = true,
     .arguments = kLockInfoArguments,
     .run = lockInfo},
};

bson::Document queueStatistics(const storage::TicketPool& pool, storage::AdmissionPriority priority) {
  const auto s = pool.statistics(priority);
  bson::Builder b;
  b.append("addedToQueue", s.addedToQueue)
      .append("removedFromQueue", s.removedFromQueue)
      .append("queueLength", s.queueLength())
      .append("startedProcessing", s.startedProcessing)
      .append("processing", s.processing())
      .append("finishedProcessing", s.finishedProcessing)
      .append("totalTimeProcessingMicros", s.totalTimeProcessingMicros)
      .append("canceled", s.canceled)
      .append("totalTimeQueuedMicros", s.totalTimeQueuedMicros);
  if (priority == storage::AdmissionPriority::kLow) b.append("expedited", s.expedited);
  return b.finish();
}

void appendPool(bson::Builder& b, std::string_view name, const storage::TicketPool& pool) {
  using enum storage::AdmissionPriority;
  b.openDocument(name)
      .append("out", pool.out())
      .append("available", pool.available())
      .append("totalTickets", pool.total())
      .append("exempt", queueStatistics(pool, kImmediate))
      .append("normalPriority", queueStatistics(pool, kNormal))
      .append("lowPriority", queueStatistics(pool, kLow))
      .close();
}

}  // namespace

void appendLocks(bson::Builder& row, const std::vector<ResourceView>& resources,
                 const storage::OperationContext& operation) {
  const uint64_t locker = operation.lockerId();
  bool waiting = false;
  std::map<storage::ResourceType, std::string_view> modes;  // of several collections the strongest mode
  const auto note = [&](storage::ResourceType type, LockMode mode) {
    auto& shown = modes[type];
    if (shown.empty() || shown < storage::letterOf(mode) || mode == LockMode::kX) shown = storage::letterOf(mode);
  };
  for (const ResourceView& resource : resources) {
    for (const auto& holder : resource.granted)
      if (locker != 0 && holder.locker == locker) note(resource.type, holder.mode);
    for (const auto& waiter : resource.pending) {
      if (locker == 0 || waiter.locker != locker) continue;
      note(resource.type, waiter.mode);
      waiting = true;
    }
  }
  row.openDocument("locks");
  for (const auto& [type, letter] : modes) row.append(storage::nameOf(type), letter);
  row.close().append("waitingForLock", waiting);
  if (const storage::Locker* shown = operation.shownLocker())
    row.append("lockStats", lockStatistics(shown->statistics()));
  const auto& flow = operation.metrics.flowControl;
  row.append("waitingForFlowControl", flow.isWaiting.load()).openDocument("flowControlStats");
  appendFlowControl(row, operation.metrics);
  row.close();
  row.append("admissionPriority", storage::nameOf(operation.priority()));
}

bson::Document admissionStatistics(storage::ExecutionAdmission& admission) {
  const auto tuning = admission.statistics();
  bson::Builder b;
  appendPool(b, "write", admission.write());
  appendPool(b, "read", admission.read());
  b.append("monitor", bson::doc("timesDecreased", tuning.timesDecreased, "timesIncreased", tuning.timesIncreased,
                                "totalAmountDecreased", tuning.totalAmountDecreased, "totalAmountIncreased",
                                tuning.totalAmountIncreased));
  return b.finish();
}

std::vector<bson::Document> lockRows(ServerContext& server) {
  const auto clients = lockClients(server);
  const LockRow row(server, clients);
  std::vector<bson::Document> rows;
  for (const ResourceView& resource : server.locks.inspect()) {
    std::string name(storage::nameOf(resource.type));
    if (!resource.name.empty()) name += " " + resource.name;
    bson::Builder b;
    b.append("resourceId", name).openArray("granted");
    for (const auto& holder : resource.granted) row.append(b, holder);
    b.close().openArray("pending");
    for (const auto& waiter : resource.pending) row.append(b, waiter);
    rows.push_back(b.close().finish());
  }
  return rows;
}

std::span<const Command> lockCommands() { return kLockCommands; }

}  // namespace troupe::commands
