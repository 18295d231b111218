#include "actors/maintenance/scrubber.hpp"

#include <algorithm>
#include <chrono>

#include "actors/server/hello_state.hpp"
#include "actors/server/service_operation.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::maintenance {
namespace {

/// How often the parameters are looked at between two cycles.
constexpr auto kScrubLookEvery = std::chrono::seconds(1);
/// The longest pause before the first cycle: a node that is restarted each day is scrubbed nevertheless.
constexpr auto kLongestFirstPause = std::chrono::minutes(10);
/// Bytes between two pauses: at the lowest rate, a megabyte per second, a pause lasts a quarter of a second.
constexpr int64_t kStep = 256 << 10;

/// The collection that has a table, as a record table or by one of its indexes; "a table of the server's own".
struct TableOwner {
  storage::Namespace ns{"local", "$scrub"};
  std::string shown = "a table of the server's own";
};

TableOwner ownerOf(const storage::CatalogSnapshot& catalog, const std::string& ident) {
  if (catalog.closed()) return {};  // while the node rolls back: nothing can be asked for
  for (const std::string& db : catalog.databases()) {
    for (const storage::CollectionPtr& collection : catalog.collections(db)) {
      if (collection->ident() == ident) return {collection->ns(), collection->ns().toString()};
      for (const auto& index : collection->indexes())
        if (index->ident == ident)
          return {collection->ns(), "the index " + index->spec.name + " of " + collection->ns().toString()};
    }
  }
  return {};
}

/// Which a rollback closes; null on a node that stands alone.
storage::BackgroundGate* scrubGate(const server::ServerContext& server) {
  return server.operations.replicated ? &server.operations.replicated->background : nullptr;
}

}  // namespace

void Scrubber::onStart() {
  setPhase("waiting", "for the time of the next cycle");
  lastEnd_ = environment().now();
  every(kScrubLookEvery, [this] { look(); });
}

void Scrubber::onStopRequested() {
  stopping_ = true;
  if (table_) table_->kill(ErrorCode::kInterruptedAtShutdown);
  if (!running_) stop();
}

bool Scrubber::mayGoOn() const {
  return !stopping_ && !server_->hello.shuttingDown() && server_->parameters.scrubberEnabled;
}

void Scrubber::look() {
  Duration pause = std::chrono::seconds(server_->parameters.scrubberSleepSecs);
  if (first_) pause = std::min<Duration>(pause, kLongestFirstPause);
  if (running_ || !mayGoOn() || environment().now() - lastEnd_ < pause) return;
  running_ = true;
  start(cycle());
}

Task<void> Scrubber::cycle() {
  setPhase("reading", "tables back from the disk");
  tables_ = server_->engine.listTables();
  bytesRead_ = 0;
  for (tablesRead_ = 0; tablesRead_ < tables_.size() && mayGoOn(); ++tablesRead_) {
    co_await untilStorageIsUp();
    co_await table(tables_[tablesRead_]);
    co_await node().nextTurn();  // operators may ask for its state, and end it
  }
  if (tablesRead_ == tables_.size()) {
    std::erase_if(damaged_, [this](const auto& entry) {
      return std::find(tables_.begin(), tables_.end(), entry.first) == tables_.end();  // it was dropped
    });
    server_->counters.scrubbedDamagedTables.store(static_cast<int64_t>(damaged_.size()));
    server_->counters.scrubCycles.fetch_add(1, std::memory_order_relaxed);
  }
  lastEnd_ = environment().now();
  first_ = running_ = false;
  setPhase("waiting", "for the time of the next cycle");
  if (stopping_) stop();
}

/// A rollback has closed the gate; it may change all tables.
Task<void> Scrubber::untilStorageIsUp() {
  while (scrubGate(*server_) && !scrubGate(*server_)->isOpen() && mayGoOn()) co_await sleepFor(kScrubLookEvery);
}

Task<void> Scrubber::table(std::string ident) {
  const TableOwner owner = ownerOf(*server_->catalog.unguarded().snapshot(), ident);
  server::ServiceOperation operation(*server_, "Scrubber", owner.ns, bson::doc("scrub", ident, "of", owner.shown));
  operation->setPriority(storage::AdmissionPriority::kLow);
  table_ = &*operation;
  shownTable_ = ident;
  const auto check = server_->engine.checkBlocks(ident);
  const Status outcome = co_await readAll(table_, check.get());
  table_ = nullptr;
  shownTable_.clear();
  report(ident, outcome);
}

Task<Status> Scrubber::readAll(storage::OperationContext* operation, storage::BlockCheck* check) {
  for (bool done = false; !done;) {
    const int64_t before = check->bytesRead();
    auto pass = storage::BackgroundGate::enter(scrubGate(*server_));
    if (!pass) co_return Status(ErrorCode::kInterruptedDueToReplStateChange, "the node rolls back");
    const auto stepped = check->step(kStep);
    pass.leave();
    const int64_t bytes = check->bytesRead() - before;
    bytesRead_ += bytes;
    server_->counters.scrubbedBytes.fetch_add(bytes, std::memory_order_relaxed);
    if (!stepped.isOK()) co_return stepped.status();
    done = *stepped;
    const int64_t rate = server_->parameters.scrubberMBperSec * (1 << 20);
    if (bytes > 0) co_await sleepFor(std::chrono::microseconds(bytes * 1'000'000 / rate));
    const Status interrupted = operation->checkForInterrupt(environment().now());
    if (!interrupted.isOK()) co_return interrupted;
    if (!mayGoOn()) co_return Status(ErrorCode::kInterrupted, "the scrubber was switched off");
  }
  co_return Status::OK();
}

void Scrubber::report(const std::string& ident, const Status& outcome) {
  auto& counters = server_->counters;
  if (outcome.isOK()) {
    counters.scrubbedTables.fetch_add(1, std::memory_order_relaxed);
    damaged_.erase(ident);
  } else if (outcome == ErrorCode::kDataCorruptionDetected) {
    damaged_[ident] = outcome.reason();
    server_->log.error(log::Component::kStorage, 22447, "scrubber",
                       "A table is damaged on the disk: reads of the damaged part will end the server; restore a "
                       "backup, resync, or start with --repair",
                       bson::doc("table", ident, "of", ownerOf(*server_->catalog.unguarded().snapshot(), ident).shown,
                                 "finding", outcome.reason()));
  } else {
    server_->log.info(log::Component::kStorage, 22448, "scrubber", "The check of a table ended early",
                      bson::doc("table", ident, "error", outcome.toString()));
  }
  counters.scrubbedDamagedTables.store(static_cast<int64_t>(damaged_.size()));
}

bson::Document Scrubber::describe() const {
  const server::ServerCounters& counters = server_->counters;
  bson::Builder b;
  b.append("cycles", counters.scrubCycles.load()).append("reads", shownTable_);
  b.append("tablesRead", static_cast<int64_t>(tablesRead_)).append("tables", static_cast<int64_t>(tables_.size()));
  b.append("bytesRead", bytesRead_).openArray("damaged");
  for (const auto& [ident, finding] : damaged_) b.push(bson::doc("table", ident, "finding", finding));
  b.close();
  return b.finish();
}

}  // namespace troupe::maintenance
