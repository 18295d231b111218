#include "actors/server/finished_operation.hpp"

#include <optional>
#include <string>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/server/default_concerns.hpp"
#include "actors/server/profile_record.hpp"
#include "actors/server/profiler.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/slow_log.hpp"
#include "messaging/bson/validate.hpp"
#include "messaging/log/bounded_attributes.hpp"

namespace troupe::server {

namespace {

bool isSlow(const FinishedOperation& finished) {
  const int64_t threshold = finished.request.server().parameters.slowOperationMillis.load(std::memory_order_relaxed);
  return threshold >= 0 && finished.millis() >= threshold;
}

bool isSampled(const ServerContext& server) {
  const double rate = server.parameters.slowOpSampleRate.load(std::memory_order_relaxed);
  return rate >= 1 || server.node.environment().randomShare() < rate;
}

}  // namespace

void FinishedOperation::appendCosts(bson::Builder& out) const {
  const storage::OperationMetrics& m = request.operation().metrics;
  if (const auto plan = m.planSummary.text(); !plan.empty()) out.append("planSummary", plan);
  out.append("keysExamined", m.keysExamined).append("docsExamined", m.docsExamined).append("nreturned", m.returned);
  if (m.inserted) out.append("ninserted", m.inserted);
  if (m.modified) out.append("nModified", m.modified);
  if (m.deleted) out.append("ndeleted", m.deleted);
  if (m.writeConflicts) out.append("writeConflicts", m.writeConflicts);
  if (m.hasSortStage) out.append("hasSortStage", true);
  appendConcerns(out, request);
  if (m.flowControl.acquired.load(std::memory_order_relaxed) == 0 && m.flowControl.waits == 0) return;
  out.openDocument("flowControl");
  appendFlowControl(out, m);
  out.close();
}

void appendFlowControl(bson::Builder& out, const storage::OperationMetrics& metrics) {
  const auto& flow = metrics.flowControl;
  if (const int64_t acquired = flow.acquired.load(std::memory_order_relaxed)) out.append("acquireCount", acquired);
  if (const int64_t waits = flow.waits.load(std::memory_order_relaxed)) out.append("acquireWaitCount", waits);
  if (const int64_t micros = flow.micros.load(std::memory_order_relaxed)) out.append("timeAcquiringMicros", micros);
}

void appendFailure(bson::Builder& out, const Status& outcome) {
  if (outcome.isOK()) return;
  out.append("errCode", static_cast<int32_t>(outcome.code())).append("errName", errorName(outcome.code()));
  out.append("errMsg", bson::asUtf8(std::string(log::beginningOf(outcome.reason(), log::kMostTextBytes))));
}

std::string_view shownKind(std::string_view command) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"find", "query"},    {"getMore", "getmore"}, {"insert", "insert"},
      {"update", "update"}, {"delete", "remove"},   {"killCursors", "killcursors"}};
  for (const auto& [name, kind] : kKinds)
    if (command == name) return kind;
  return "command";
}

void reportOperation(const FinishedOperation& finished) {
  const Request& request = finished.request;
  ServerContext& server = request.server();
  const ProfileSettingPtr setting = server.profiler.settingOf(request.db());
  std::optional<bson::Document> record;
  bool isNoteworthy = false;
  // The filter costs time: strangers do not decide how often it is looked at.
  if (setting && setting->filter && isTrusted(server, request.client())) {
    record = profileRecord(finished);
    isNoteworthy = setting->admits(*record);
  } else {
    isNoteworthy = isSlow(finished) && isSampled(server);
  }
  logOperation(finished, isNoteworthy);
  if (!setting || setting->level == ProfileLevel::kOff) return;
  if (setting->level != ProfileLevel::kAll && !isNoteworthy) return;
  // What strangers send must not push the operations of clients out.
  if (!isTrusted(server, request.client())) return;
  if (!record) record = profileRecord(finished);
  server.profiler.record(request.db(), std::move(*record));
}

}  // namespace troupe::server
