#include "actors/maintenance/profile_keeper.hpp"

#include <map>
#include <utility>

#include "actors/storage/collection_writer.hpp"

namespace troupe::maintenance {

namespace {

/// Records wait to be written (local payload).
struct RecordsWait {};

storage::CollectionOptions profileOptions() {
  storage::CollectionOptions options;
  options.capped = true;
  options.cappedSize = ProfileKeeper::kCollectionBytes;
  return options;
}

std::map<std::string, std::vector<bson::Document>> byDatabase(std::vector<server::ProfileEntry> entries) {
  std::map<std::string, std::vector<bson::Document>> grouped;
  for (server::ProfileEntry& entry : entries) grouped[entry.database].push_back(std::move(entry.record));
  return grouped;
}

}  // namespace

Behaviour ProfileKeeper::behaviour() {
  return {on<RecordsWait>([this](const RecordsWait&) {
    if (!std::exchange(writing_, true)) start(writeAll());
  })};
}

void ProfileKeeper::onStart() {
  setPhase("waiting", "for operations to record");
  server_->profiler.keepWith([&node = node(), self = self()] { node.tell(self, local(RecordsWait{})); });
}

void ProfileKeeper::onStop(const Status&) { server_->profiler.forgetKeeper(); }

Task<void> ProfileKeeper::writeAll() {
  setPhase("writing", "records of operations");
  for (auto entries = server_->profiler.take(kBatch); !entries.empty(); entries = server_->profiler.take(kBatch)) {
    const size_t taken = entries.size();
    auto grouped = byDatabase(std::move(entries));
    for (auto& [database, records] : grouped) {
      const auto count = static_cast<int64_t>(records.size());
      const Status status = co_await write(database, std::move(records));
      (status.isOK() ? written_ : failed_) += count;
      if (!status.isOK() && failureLines_.admit(environment().now()))
        server_->log.warning(log::Component::kCommand, 7004003, "profiler", "Operations could not be profiled",
                             bson::doc("database", database, "records", count, "error", status.toString()));
    }
    server_->profiler.finished(taken);
    co_await node().nextTurn();  // operators may ask for its state, and end it
  }
  writing_ = false;
  setPhase("waiting", "for operations to record");
}

Task<Status> ProfileKeeper::write(std::string database, std::vector<bson::Document> records) {
  const storage::Namespace ns(database, server::kProfileCollection);
  if (!server_->catalog.exists(ns) && !server_->profiler.isOn(database))
    co_return Status(ErrorCode::kNamespaceNotFound, "profiling was turned off and the collection dropped meanwhile");
  storage::OperationContext operation(server_->operations, storage::OperationOrigin::kService);
  CollectionWriter writer(server_->writes, operation);
  TROUPE_CO_TRY(co_await writer.createIfMissing(ns, profileOptions()));
  TROUPE_CO_ASSIGN(const auto target, co_await writer.open(ns, IfMissing::kLeave));
  if (!target.collection) co_return Status(ErrorCode::kNamespaceNotFound, "the collection was dropped meanwhile");
  std::vector<bson::Document> documents;
  for (const bson::Document& record : records)
    documents.push_back(bson::Builder().append("_id", server::newObjectId(*server_)).appendAll(record).finish());
  auto insert = [&]() -> Status {
    for (const bson::Document& document : documents)
      TROUPE_TRY(target.collection->insert(operation.recoveryUnit(), document).status());
    return Status::OK();
  };
  co_return co_await writer.commit(insert);
}

bson::Document ProfileKeeper::describe() const {
  return bson::doc("written", written_, "failed", failed_, "dropped", server_->profiler.dropped());
}

}  // namespace troupe::maintenance
