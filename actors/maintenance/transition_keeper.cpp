#include "actors/maintenance/transition_keeper.hpp"

#include <algorithm>
#include <utility>

#include "messaging/description/bson_archive.hpp"
#include "storage/records/checked_document.hpp"

namespace troupe::maintenance {

namespace {

/// Moves wait to be written (local payload).
struct MovesWait {};

const storage::Namespace& collectionName() {
  static const storage::Namespace kName("local", "troupe.transitions");
  return kName;
}

storage::CollectionOptions collectionOptions() {
  storage::CollectionOptions options;
  options.capped = true;
  options.cappedSize = TransitionKeeper::kCollectionBytes;
  return options;
}

}  // namespace

Behaviour TransitionKeeper::behaviour() {
  return {on<MovesWait>([this](const MovesWait&) {
    if (!std::exchange(writing_, true)) start(writeAll());
  })};
}

void TransitionKeeper::onStart() {
  setPhase("waiting", "for machines to move");
  auto records = load();
  if (records.isOK()) {
    restored_ = static_cast<int64_t>(records->size());
    node().transitions().restore(std::move(*records));
  } else {
    server_->log.warning(log::Component::kStorage, 7004002, "transitions",
                         "What machines did in earlier lives of this node cannot be read",
                         bson::doc("error", records.status().toString()));
  }
  node().transitions().keepWith([&node = node(), self = self()] { node.tell(self, local(MovesWait{})); });
}

void TransitionKeeper::onStop(const Status&) { node().transitions().forgetKeeper(); }

/// Oldest first. A record that this version cannot read is left out.
StatusWith<std::vector<TransitionRecord>> TransitionKeeper::load() const {
  std::vector<TransitionRecord> records;
  const auto catalog = server_->catalog.unguarded().snapshot();
  if (catalog->closed()) return records;
  const auto collection = catalog->find(collectionName());
  if (!collection || collection->isView()) return records;
  storage::OperationContext operation(server_->operations, storage::OperationOrigin::kService);
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(operation.recoveryUnit(), false));
  TROUPE_ASSIGN(bool found, cursor.next());
  while (found && records.size() < kRestored) {
    TROUPE_ASSIGN(const bson::View document, storage::checkedDocument(cursor.bytes(), collectionName().toString()));
    auto record = machines::fromBson<TransitionRecord>(document);
    if (record.isOK()) records.push_back(std::move(*record));
    TROUPE_ASSIGN(found, cursor.next());
  }
  std::reverse(records.begin(), records.end());
  return records;
}

Task<void> TransitionKeeper::writeAll() {
  setPhase("writing", "moves of machines to disk");
  for (auto records = node().transitions().takeUnwritten(kBatch); !records.empty();
       records = node().transitions().takeUnwritten(kBatch)) {
    const auto count = static_cast<int64_t>(records.size());
    const Status status = co_await write(std::move(records));
    (status.isOK() ? written_ : failed_) += count;
    if (!status.isOK() && failureLines_.admit(environment().now()))
      server_->log.warning(log::Component::kStorage, 7004001, "transitions",
                           "What machines did could not be written to disk",
                           bson::doc("ns", collectionName().toString(), "error", status.toString()));
    co_await sleepFor(kPause);
  }
  writing_ = false;
  setPhase("waiting", "for machines to move");
}

Task<Status> TransitionKeeper::write(std::vector<TransitionRecord> records) {
  storage::OperationContext operation(server_->operations, storage::OperationOrigin::kService);
  CollectionWriter writer(server_->writes, operation);
  TROUPE_CO_TRY(co_await writer.createIfMissing(collectionName(), collectionOptions()));
  TROUPE_CO_ASSIGN(const auto target, co_await writer.open(collectionName(), IfMissing::kLeave));
  if (!target.collection) co_return Status(ErrorCode::kNamespaceNotFound, "the collection was dropped meanwhile");
  std::vector<bson::Document> documents;
  for (const TransitionRecord& record : records)
    documents.push_back(
        bson::Builder().append("_id", server::newObjectId(*server_)).appendAll(machines::toBson(record)).finish());
  auto insert = [&]() -> Status {
    for (const bson::Document& document : documents)
      TROUPE_TRY(target.collection->insert(operation.recoveryUnit(), document).status());
    return Status::OK();
  };
  co_return co_await writer.commit(insert);
}

bson::Document TransitionKeeper::describe() const {
  return bson::doc("written", written_, "restored", restored_, "failed", failed_, "dropped",
                   node().transitions().dropped());
}

}  // namespace troupe::maintenance
