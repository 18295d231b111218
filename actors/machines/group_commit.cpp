#include "actors/machines/group_commit.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "storage/catalog/catalog_closed.hpp"

namespace troupe::machines {

namespace {

const FaultSite kWriteFails("machines.store.write-fails", 0.05,
                            "a document cannot be written: its conflicts outlast the retries");
const FaultSite kNoSession("machines.store.no-session", 0.05, "the engine has no session to give");
const FaultSite kFlushFails("machines.store.flush-fails", 0.03,
                            "a document is written, and nobody can say that it is safe");

/// Writes in one transaction: enough to spread its cost, few enough to keep it short.
constexpr size_t kLargestGroup = 64;
/// About a millisecond; then others get the thread.
constexpr size_t kWritesPerTurn = 4 * kLargestGroup;

}  // namespace

Future<Status> GroupCommit::write(bson::Document document, Change change, Durability durability,
                                  std::optional<int64_t> term) {
  Write write{std::move(document), change, durability, term, {}};
  auto done = write.done.future();
  // A retry has an operation of its own: without a term nothing would tie it to the one in which it was asked for.
  if (change != Change::kNone && !term && access_.operations.replicated && ns_.isReplicated())
    write.done.set({ErrorCode::kNotWritablePrimary, "the writer of " + ns_.toString() + " serves in no term"});
  else add(std::move(write));
  return done;
}

Task<void> GroupCommit::written() {
  if (isIdle()) co_return;
  (void)co_await write({}, Change::kNone, Durability::kLocal);  // only the order counts
}

bool GroupCommit::isIdle() {
  std::lock_guard lock(mutex_);
  return !running_;
}

void GroupCommit::add(Write write) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(write));
    if (std::exchange(running_, true)) return;
  }
  access_.node.start(run(shared_from_this()));
}

/// Empties the queue. An empty result ends the writing coroutine: the next write starts another.
std::vector<GroupCommit::Write> GroupCommit::takeQueue() {
  std::lock_guard lock(mutex_);
  running_ = !queue_.empty();
  return std::exchange(queue_, {});
}

/// The next writes that may share a transaction: those of one term.
std::span<GroupCommit::Write> GroupCommit::groupAt(std::vector<Write>& writes, size_t begin) {
  size_t end = begin + 1;
  while (end < writes.size() && end - begin < kLargestGroup && writes[end].term == writes[begin].term) ++end;
  return std::span(writes).subspan(begin, end - begin);
}

/// Writes that are handed over in this round of the pool join the group before it is taken.
Task<void> GroupCommit::run(std::shared_ptr<GroupCommit> self) {
  for (;;) {
    co_await self->access_.node.nextTurn();
    std::vector<Write> taken = self->takeQueue();
    if (taken.empty()) co_return;
    for (size_t begin = 0, turn = 0; begin < taken.size();) {
      if (begin - turn >= kWritesPerTurn) {
        turn = begin;
        co_await self->access_.node.nextTurn();
      }
      const auto group = groupAt(taken, begin);
      begin += group.size();
      co_await self->commitOrFail(group);
    }
  }
}

/// One transaction, tried again at once after conflicts; `retry` says whether to try again later. An exception must
/// not take the writes of others with it.
template <class Body>
Status GroupCommit::attempt(CollectionWriter& writer, storage::ConflictRetry& retry, const Body& body) {
  Environment& environment = access_.node.environment();
  if (environment.fires(kNoSession)) return {ErrorCode::kExceededMemoryLimit, "no session is left"};
  if (environment.fires(kWriteFails))
    return {ErrorCode::kWriteConflict, "the document is written by others again and again"};
  try {
    return writer.attempt(retry, body);
  } catch (const storage::CatalogClosed&) {
    return storage::CatalogClosed::status();
  } catch (const std::exception& failure) {
    return {ErrorCode::kInternalError, failure.what()};
  }
}

/// An exception fails these writes, not the lane.
Task<void> GroupCommit::commitOrFail(std::span<Write> group) {
  try {
    co_await commit(group);
  } catch (const storage::CatalogClosed&) {
    for (Write& write : group) write.done.set(storage::CatalogClosed::status());
  } catch (const std::exception& failure) {
    for (Write& write : group) write.done.set({ErrorCode::kInternalError, failure.what()});
  }
}

/// Writes that cannot commit together are committed one by one. A group without writes costs neither a transaction nor
/// a flush.
Task<void> GroupCommit::commit(std::span<Write> group) {
  const auto holds = [group](Change change) {
    return std::any_of(group.begin(), group.end(),
                       [&](const Write& w) { return w.change == change && w.done.isAwaited(); });
  };
  const bool puts = holds(Change::kPut);
  if (!puts && !holds(Change::kRemove)) {
    for (Write& write : group) write.done.set(Status::OK());
    co_return;
  }
  storage::OperationContext operation(access_.operations, storage::OperationOrigin::kMachine);
  if (group.front().term) operation.setWriteTerm(*group.front().term);
  CollectionWriter writer(services_, operation);
  const auto opened = co_await writer.open(ns_, puts ? IfMissing::kCreate : IfMissing::kLeave);
  if (!opened.isOK() || !opened->collection) {
    answer(group, opened.status());
    co_return;
  }
  storage::RecoveryUnit& unit = operation.recoveryUnit();
  storage::ConflictRetry retry;
  const auto all = [&]() -> Status {
    for (const Write& write : group) TROUPE_TRY(apply(*opened->collection, unit, write));
    return Status::OK();
  };
  if (group.size() > 1 && attempt(writer, retry, all).isOK()) {
    answer(group, Status::OK());
    co_return;
  }
  for (Write& write : group) commitAlone(writer, *opened->collection, unit, write);
}

/// Writes that have to wait for others are tried again later, behind newer ones.
void GroupCommit::commitAlone(CollectionWriter& writer, const storage::Collection& collection,
                              storage::RecoveryUnit& unit, Write& write) {
  if (!write.retry) write.retry = std::make_unique<storage::ConflictRetry>();
  const Status status = attempt(writer, *write.retry, [&] { return apply(collection, unit, write); });
  if (!status.isOK() && write.retry->pendingDelay())
    return access_.node.start(addLater(shared_from_this(), std::move(write)));
  answer({&write, 1}, status);
}

Task<void> GroupCommit::addLater(std::shared_ptr<GroupCommit> self, Write write) {
  co_await self->access_.node.sleepFor(*write.retry->pendingDelay());
  self->add(std::move(write));
}

Status GroupCommit::apply(const storage::Collection& collection, storage::RecoveryUnit& unit, const Write& write) {
  if (!write.done.isAwaited()) return Status::OK();
  switch (write.change) {
    case Change::kNone: return Status::OK();
    case Change::kPut: return put(collection, unit, write.document);
    case Change::kRemove: return remove(collection, unit, write.document);
  }
  return Status::OK();
}

Status GroupCommit::put(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View document) {
  int64_t& place = places_[std::hash<std::string_view>()(document["_id"].raw()) % places_.size()];
  TROUPE_ASSIGN(const auto written, collection.put(unit, document, storage::RecordId(place)));
  place = written.number();
  return Status::OK();
}

Status GroupCommit::remove(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View key) {
  TROUPE_ASSIGN(const auto record, collection.findById(unit, key["_id"]));
  if (!record) return Status::OK();
  bson::Document before;
  TROUPE_TRY(collection.find(unit, *record, [&](bson::View found) { before = bson::Document(found); }).status());
  return collection.remove(unit, *record, before);
}

void GroupCommit::answer(std::span<Write> writes, const Status& outcome) {
  if (!outcome.isOK()) {
    for (Write& write : writes) write.done.set(outcome);
    return;
  }
  const auto ticket = access_.durability.take();
  auto waiting = std::make_shared<std::vector<Promise<Status>>>();
  for (Write& write : writes) {
    if (write.durability == Durability::kLocal) write.done.set(outcome);
    else if (access_.node.environment().fires(kFlushFails))
      write.done.set({ErrorCode::kInternalError, "the journal cannot be flushed"});
    else waiting->push_back(std::move(write.done));
  }
  if (waiting->empty()) return;
  // On the pool: the flusher is to flush.
  const auto tell = [waiting, &node = access_.node](const Status& flushed) {
    node.post([waiting, flushed] {
      for (auto& done : *waiting) done.set(flushed);
    });
  };
  if (access_.durability.wait(ticket, tell)) access_.wakeFlusher();
}

}  // namespace troupe::machines
