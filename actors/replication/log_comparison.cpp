// The search for the common point: rollback_actor.hpp.
#include <deque>
#include <utility>

#include "actors/replication/rollback_actor.hpp"
#include "state_machines/replication/common_point.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::replication {

namespace {

constexpr size_t kReadAtOnce = 1000;
/// Bytes of a source's entries that may be on the way: they are small, two numbers each.
constexpr size_t kCredit = size_t{1} << 20;

StatusWith<OpTime> timeOfEntry(bson::View entry) {
  const bson::Element time = entry["ts"], term = entry["t"];
  if (!time.is(bson::Type::kTimestamp) || !term.isNumber())
    return Status(ErrorCode::kFailedToParse, "an entry of the oplog has no OpTime");
  return OpTime{term.toInt64(), time.asTimestamp()};
}

/// Entries of the own log, newest first, read in pieces: no snapshot stays open between them.
class OwnEntries {
 public:
  OwnEntries(const storage::OplogStore& log, const storage::OperationServices& services)
      : log_(log), services_(services) {}

  StatusWith<std::optional<OpTime>> next() {
    if (read_.empty() && !ended_) TROUPE_TRY(readOn());
    if (read_.empty()) return std::optional<OpTime>();
    last_ = read_.front();
    read_.pop_front();
    return std::optional<OpTime>(last_);
  }

 private:
  Status readOn() {
    storage::OperationContext operation(services_, storage::OperationOrigin::kApplier);
    TROUPE_ASSIGN(auto cursor, log_.cursor(operation.recoveryUnit(), false));
    bool found = false;
    if (last_ == OpTime{}) {
      TROUPE_ASSIGN(found, cursor.next());
    } else {
      TROUPE_ASSIGN(found, cursor.seek(bson::Timestamp::fromUint64(last_.timestamp.asUint64() - 1)));
    }
    while (found && read_.size() < kReadAtOnce) {
      TROUPE_ASSIGN(const OpTime one, timeOfEntry(cursor.entry()));
      read_.push_back(one);
      TROUPE_ASSIGN(found, cursor.next());
    }
    ended_ = !found;
    return Status::OK();
  }

  const storage::OplogStore& log_;
  const storage::OperationServices services_;
  std::deque<OpTime> read_;
  OpTime last_;
  bool ended_ = false;
};

/// Entries of the source's log, newest first.
class TheirEntries {
 public:
  explicit TheirEntries(std::unique_ptr<RemoteDocuments> documents) : documents_(std::move(documents)) {}

  Task<StatusWith<std::optional<OpTime>>> next() {
    if (read_.empty() && !ended_) {
      const auto batch = co_await documents_->next();
      if (!batch.isOK()) co_return batch.status();
      ended_ = batch->empty();
      for (const bson::View entry : *batch) {
        const auto one = timeOfEntry(entry);
        if (!one.isOK()) co_return one.status();
        read_.push_back(*one);
      }
    }
    if (read_.empty()) co_return std::optional<OpTime>();
    const OpTime first = read_.front();
    read_.pop_front();
    co_return std::optional<OpTime>(first);
  }

 private:
  std::unique_ptr<RemoteDocuments> documents_;
  std::deque<OpTime> read_;
  bool ended_ = false;
};

bson::Document backwards() {
  return bson::doc("find", "oplog.rs", "sort", bson::doc("$natural", -1), "projection",
                   bson::doc("_id", 0, "ts", 1, "t", 1));
}

}  // namespace

Task<StatusWith<ComparedLogs>> compareLogs(const storage::OplogStore& own, storage::OperationServices services,
                                           RemoteMembers& members, machines::NodeName source) {
  auto opened = co_await members.read(std::move(source), "local", backwards(), kCredit);
  if (!opened.isOK()) co_return opened.status();
  TheirEntries theirs(std::move(*opened));
  OwnEntries ours(own, services);
  CommonPointSearch search;
  ComparedLogs compared;
  while (search.wants() != CommonPointSearch::Wants::kNothing) {
    if (search.wants() == CommonPointSearch::Wants::kLocal) {
      const auto entry = ours.next();
      if (!entry.isOK()) co_return entry.status();
      if (*entry && compared.newest == OpTime{}) compared.newest = **entry;
      search.local(*entry);
    } else {
      const auto entry = co_await theirs.next();
      if (!entry.isOK()) co_return entry.status();
      search.remote(*entry);
    }
  }
  compared.common = search.found();
  compared.undone = search.undone();
  co_return compared;
}

}  // namespace troupe::replication
