#include "actors/replication/oplog_applier.hpp"

#include <algorithm>
#include <utility>

#include "actors/kernel/node.hpp"

namespace troupe::replication {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// How often what may change without a message is looked at: the delay, and the space on the disk.
constexpr milliseconds kLookEvery(1000);

int64_t wallMillisOf(const Environment& environment) {
  return duration_cast<milliseconds>(environment.wallNow().time_since_epoch()).count();
}

}  // namespace

ApplyFigures::Values ApplyFigures::get() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

void ApplyFigures::countKinds(std::span<const storage::OplogEntry> entries) {
  for (const storage::OplogEntry& each : entries) {
    switch (each.operation.kind) {
      case storage::OplogKind::kInsert: ++values_.inserts; break;
      case storage::OplogKind::kUpdate: ++values_.updates; break;
      case storage::OplogKind::kRemove: ++values_.removes; break;
      case storage::OplogKind::kCommand: ++values_.commands; break;
      case storage::OplogKind::kNoop: break;
    }
  }
}

void ApplyFigures::noteBatch(const OplogBatch& batch, microseconds took) {
  constexpr double kMemoryMicros = 5e6;
  const auto bytes = static_cast<int64_t>(batch.bytes());
  const std::lock_guard lock(mutex_);
  ++values_.batches;
  values_.entries += static_cast<int64_t>(batch.count);
  values_.bytes += bytes;
  countKinds(batch.entries());
  values_.micros += took.count();
  values_.applied = batch.entries().back().opTime;
  values_.wallMillis = batch.entries().back().wall.millis;
  const double kept = recentMicros_ > kMemoryMicros ? kMemoryMicros / recentMicros_ : 1;
  recentEntries_ = recentEntries_ * kept + static_cast<double>(batch.count);
  recentMicros_ = recentMicros_ * kept + static_cast<double>(took.count());
  values_.perSecond = recentMicros_ > 0 ? recentEntries_ / recentMicros_ * 1e6 : 0;
}

void ApplyFigures::noteWaiting(size_t entries) {
  const std::lock_guard lock(mutex_);
  values_.waiting = static_cast<int64_t>(entries);
}

Behaviour OplogApplier::behaviour() {
  return {on<DrainBuffer>([this](const DrainBuffer& wanted, Context& context) { drain(wanted, context); }),
          on<Pause>([this](const Pause&, Context& context) { pause(context); }),
          on<Resume>([this](const Resume&) { resume(); })};
}

void OplogApplier::onStart() { start(run()); }

Task<void> OplogApplier::run() {
  while (!stopping_) {
    if (paused_) {
      setPhase("paused", "until it is told to resume");
      co_await message();
      continue;
    }
    const auto filled = refill();
    if (!filled.isOK()) co_return failWith(filled.status());
    if (!*filled) {
      co_await awaitEntries();
      continue;
    }
    const size_t count = nextBatch(*parts_.memory->taken, parts_.memory->next, parts_.limits, notAfter());
    if (count == 0) {
      if (!dropsTheRest()) co_await awaitDelay();
      continue;
    }
    OplogBatch batch{parts_.memory->taken, parts_.memory->next, count};
    if (!hasRoomFor(batch)) {
      co_await awaitRoom();
      continue;
    }
    const Status applied = co_await applyNext(std::move(batch));
    if (stage_ == Stage::kIdle && !applied.isOK()) paused_ = true;  // given up: until a Resume, or the stop
    else if (!applied.isOK()) co_return failWith(applied);
    answer(pauses_);
  }
  stop();
}

/// Whether the buffer is closed is asked before it is found empty: nothing is added to a closed one.
StatusWith<bool> OplogApplier::refill() {
  ApplierMemory& memory = *parts_.memory;
  if (memory.taken && memory.life != parts_.buffer->life()) memory.taken.reset();
  if (memory.waiting() > 0) return true;
  memory.taken.reset();
  rests_ = parts_.buffer->isClosed();
  auto fetched = parts_.buffer->take(parts_.limits.maxEntries, parts_.limits.maxBytes, &memory.life);
  parts_.memory->figures.noteWaiting(fetched.size());
  if (fetched.empty()) return false;
  rests_ = false;
  std::vector<bson::Document> documents;
  documents.reserve(fetched.size());
  for (FetchedEntry& each : fetched) documents.push_back(std::move(each.document));
  TROUPE_ASSIGN(auto stretch, storage::OplogStretch::parse(std::move(documents)));
  memory.taken = std::make_shared<const storage::OplogStretch>(std::move(stretch));
  memory.next = 0;
  return true;
}

/// The log keeps the entries, and the documents are about as large.
bool OplogApplier::hasRoomFor(const OplogBatch& batch) const {
  return !parts_.roomFor || parts_.roomFor(2 * batch.bytes()).isOK();
}

Task<Status> OplogApplier::applyNext(OplogBatch batch) {
  ApplierMemory& memory = *parts_.memory;
  const TimePoint begun = environment().now();
  stage_ = Stage::kWriting;
  setPhase("writing", "a batch of entries");
  const Status written = co_await parts_.writer->write(batch);
  const bool isGivenUp =
      written == ErrorCode::kInterruptedAtShutdown ||  // the next start writes the rest
      (written == ErrorCode::kInterruptedDueToReplStateChange && !parts_.writer->hasBegun());  // a rollback begins
  if (isGivenUp) stage_ = Stage::kIdle;
  if (!written.isOK()) co_return written;
  memory.next += batch.count;
  memory.figures.noteBatch(batch, duration_cast<microseconds>(environment().now() - begun));
  memory.figures.noteWaiting(memory.waiting());
  stage_ = Stage::kIdle;
  moveTimes(batch);
  co_return Status::OK();
}

/// Readers that tail the log are woken by its visible end, and read at last applied: that comes first.
void OplogApplier::moveTimes(const OplogBatch& batch) {
  const storage::OplogEntry& last = batch.entries().back();
  const OpTime end = last.opTime;
  parts_.applied(end, last.wall);
  parts_.writes->slots.advanceTo(end.timestamp);
  parts_.writes->visibility.advance(end.timestamp);
}

Task<void> OplogApplier::awaitEntries() {
  if (rests_) {
    answerDrains();
    setPhase("drained", "all is applied, and nothing is fetched");
    co_await parts_.buffer->untilOpen();
    co_return;
  }
  setPhase("waiting", "for entries");
  co_await parts_.buffer->untilFilled();
}

std::optional<bson::Date> OplogApplier::notAfter() const {
  if (!parts_.delay || leads_) return std::nullopt;
  const Duration delay = parts_.delay();
  if (delay <= Duration::zero()) return std::nullopt;
  return bson::Date{wallMillisOf(environment()) - duration_cast<milliseconds>(delay).count()};
}

Task<void> OplogApplier::awaitRoom() {
  setPhase("full", "waits for space on the disk");
  co_await rest(kLookEvery);
}

/// Only a fetcher opens the buffer again, and it waits for this: the next life begins with the entry behind the last
/// applied one.
bool OplogApplier::dropsTheRest() {
  if (drains_.empty() || !parts_.buffer->isClosed()) return false;
  parts_.buffer->clear();
  return true;
}

/// Not longer than a moment at a time: the delay is of the set's config, which may change.
Task<void> OplogApplier::awaitDelay() {
  setPhase("delaying", "a delayed member applies later, a removed one nothing");
  const ApplierMemory& memory = *parts_.memory;
  const int64_t wall = memory.taken->entries[memory.next].wall.millis;
  const int64_t mayBeOf = notAfter().value_or(bson::Date{wall}).millis;
  co_await rest(std::clamp(milliseconds(wall - mayBeOf), milliseconds(1), kLookEvery));
}

Task<void> OplogApplier::rest(Duration longest) {
  const TimerId timer = after(longest, [this] { nudge(); });
  co_await message();
  cancelTimer(timer);
}

void OplogApplier::failWith(Status why) {
  stage_ = Stage::kFailed;
  failure_ = std::move(why);
  setPhase("failed", "the data of this node are not those of the log");
  for (auto* asks : {&pauses_, &drains_})
    for (Context& each : std::exchange(*asks, {})) each.fail(failure_);
  parts_.fail(failure_);
}

bool OplogApplier::isDrained() const {
  const ApplierMemory& memory = *parts_.memory;
  const bool isCurrent = memory.life == parts_.buffer->life();  // else what was taken goes
  if (stage_ != Stage::kIdle || (isCurrent && memory.waiting() > 0)) return false;
  return parts_.buffer->isClosed() && parts_.buffer->figures().entries == 0;
}

void OplogApplier::drain(const DrainBuffer& wanted, Context& context) {
  if (stage_ == Stage::kFailed) return context.fail(failure_);
  if (isDrained() && (wanted.toLead || !paused_)) return context.reply(local(troupe::Done{}));
  leads_ |= wanted.toLead;
  drains_.push_back(std::move(context));
  nudge();
}

void OplogApplier::pause(Context& context) {
  if (stage_ == Stage::kFailed) return context.fail(failure_);
  paused_ = true;
  if (stage_ == Stage::kIdle) return context.reply(local(troupe::Done{}));
  pauses_.push_back(std::move(context));
}

void OplogApplier::resume() {
  paused_ = false;
  nudge();
}

void OplogApplier::answer(std::vector<Context>& asks) {
  for (Context& each : std::exchange(asks, {})) each.reply(local(troupe::Done{}));
}

void OplogApplier::answerDrains() {
  leads_ = false;
  answer(drains_);
}

Future<troupe::Done> OplogApplier::message() { return nudges_.emplace_back().future(); }

void OplogApplier::nudge() {
  for (Promise<troupe::Done>& each : std::exchange(nudges_, {})) each.set({});
}

void OplogApplier::onStopRequested() {
  stopping_ = true;
  if (stage_ != Stage::kWriting || !parts_.writer->hasBegun()) stop();
}

/// A batch that still waits for its locks is begun anew by the next life.
void OplogApplier::onStop(const Status& reason) {
  if (stage_ != Stage::kWriting || !parts_.writer->hasBegun() || reason == ErrorCode::kInterruptedAtShutdown) return;
  parts_.fail(reason.withContext("the applier ended in the middle of a batch"));
}

bson::Document OplogApplier::describe() const {
  const auto values = parts_.memory->figures.get();
  const auto writer = parts_.writer->figures();
  const auto buffer = parts_.buffer->figures();
  bson::Builder b;
  b.append("applied", values.applied.timestamp).append("term", values.applied.term);
  b.append("batches", values.batches).append("entries", values.entries).append("bytes", values.bytes);
  b.append("units", writer.units).append("conflicts", writer.conflicts);
  b.append("entriesPerSecond", values.perSecond);
  if (values.batches > 0) b.append("lagMillis", std::max<int64_t>(0, wallMillisOf(environment()) - values.wallMillis));
  b.append("waiting", values.waiting);
  b.append("bufferedEntries", static_cast<int64_t>(buffer.entries));
  b.append("bufferedBytes", static_cast<int64_t>(buffer.bytes));
  b.append("bufferBytes", static_cast<int64_t>(buffer.maxBytes));
  return b.finish();
}

}  // namespace troupe::replication
