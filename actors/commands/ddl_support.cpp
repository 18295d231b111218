#include "actors/commands/ddl_support.hpp"

#include "actors/commands/cursor_batches.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/kernel/node.hpp"
#include "actors/maintenance/index_build_messages.hpp"
#include "actors/maintenance/temporary_cleaner.hpp"
#include "actors/server/collection_uuid.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

class RowsStream final : public ResultStream {
 public:
  explicit RowsStream(ListedRows rows) : rows_(std::move(rows)) {}
  StatusWith<query::Next> next() override {
    const auto row = rows_.next();
    return row ? query::Next::of(*row) : query::Next::end();
  }
  void save() override {}
  Status restore(storage::OperationContext&) override { return Status::OK(); }
  void report(storage::OperationMetrics&) const override {}

 private:
  ListedRows rows_;
};

}  // namespace

Task<StatusWith<ChangeTarget>> openForChange(Request& request, ChangeErrors errors) {
  TROUPE_CO_ASSIGN(auto ns, request.target());
  ServerContext& server = request.server();
  auto lock = co_await lockCollection(server.node, request.operation(), ns, storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  auto collection = server.catalog.find(ns);
  TROUPE_CO_TRY(checkCollectionUuid(request, ns));
  if (!collection && !errors.missing.empty())
    co_return Status(ErrorCode::kNamespaceNotFound, std::string(errors.missing) + ns.toString());
  if (collection && collection->isView() && !errors.view.empty())
    co_return Status(ErrorCode::kCommandNotSupportedOnView, std::string(errors.view) + ns.toString());
  co_return ChangeTarget{std::move(ns), std::move(*lock), std::move(collection)};
}

void leaveTemporary(ServerContext& server, const storage::Collection& temporary, std::string_view why) {
  server.log.warning(log::Component::kCommand, 20902, "command", "A temporary collection was not removed",
                     bson::doc("ns", temporary.ns().toString(), "error", why));
  if (!server.membership || !temporary.ns().isReplicated()) return;
  server.node.tell(server.node.address(maintenance::kTemporaryCleanerPath),
                   local(maintenance::LeftTemporary{temporary.uuid()}));
}

Task<Status> abortIndexBuilds(Request& request, bson::Uuid collection, std::vector<bson::Uuid> builds, Status why) {
  Node& node = request.server().node;
  maintenance::AbortBuilds wanted{collection, std::move(builds), std::move(why)};
  auto asked = node.ask(node.address(maintenance::kIndexBuildsPath), local(std::move(wanted)));
  const Answer ended = co_await awaitAnswer(node, request.operation(), std::move(asked));
  TROUPE_CO_TRY(request.checkForInterrupt());
  // Between two lives of their supervisor no build runs, or soon none: the next life discards what they left.
  const bool hasNobody = ended.status() == ErrorCode::kNoSuchKey || ended.status() == ErrorCode::kShutdownInProgress;
  co_return hasNobody ? Status::OK() : ended.status();
}

Status checkLifetime(const Request& request, std::optional<int64_t> expireAfterSeconds) {
  if (!expireAfterSeconds || *expireAfterSeconds <= wallMillis(request.server()) / 1000) return Status::OK();
  return {ErrorCode::kInvalidOptions,
          "'expireAfterSeconds' must not reach back beyond 1970, found: " + std::to_string(*expireAfterSeconds)};
}

int64_t collectionDiskBytes(ServerContext& server, const storage::Collection& collection) {
  int64_t bytes = server.engine.tableBytes(collection.records().table());
  for (const auto& index : collection.indexes()) bytes += server.engine.tableBytes(index->access->table());
  return bytes;
}

StatusWith<bson::Element> batchSizeOf(const Request& request) {
  constexpr Argument kCursor[] = {numberArg("batchSize")};
  const bson::View cursor = request.document("cursor");
  TROUPE_TRY(checkFields(std::string(request.commandName()) + ".cursor", kCursor, cursor));
  return cursor["batchSize"];
}

Status checkBatchSizeOf(const bson::Element& batchSize) {
  if (batchSize.isNullish() || batchSize.toInt64() >= 0) return Status::OK();
  return {ErrorCode::kInvalidComparisonRange,
          "BSON field 'batchSize' value must be >= 0, actual value '" + std::to_string(batchSize.toInt64()) + "'"};
}

Task<Status> replyWithRows(Request& request, std::string ns, ListedRows rows, bson::Element batchSize) {
  TROUPE_CO_TRY(checkBatchSizeOf(batchSize));
  BatchLimit limit;
  if (!batchSize.isNullish()) limit.documents = batchSize.toInt64();
  const auto count = static_cast<int64_t>(rows.size());
  auto cursor = newCursor(request, ns, std::make_unique<RowsStream>(std::move(rows)));
  cursor->limit = count;
  co_return co_await replyWithCursor(request, std::move(cursor), limit, false);
}

}  // namespace troupe::commands
