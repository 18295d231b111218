#include "actors/replication/oplog_fetcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "messaging/clock/shown_op_time.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::replication {

namespace {

using log::Severity;

std::string textOf(const OpTime& at) {
  return fmt::format("({}, {}) of term {}", at.timestamp.seconds, at.timestamp.increment, at.term);
}

constexpr FetcherLine kRestarting{21275, Severity::kInfo, "Restarting the oplog cursor"};
constexpr FetcherLine kChosen{21276, Severity::kInfo, "Sync source chosen"};
constexpr FetcherLine kChoosingAnew{21277, Severity::kInfo, "Choosing a new sync source"};
constexpr FetcherLine kDenied{21278, Severity::kInfo, "Sync source denied"};
constexpr FetcherLine kTooStaleToCatchUp{21279, Severity::kWarning, "This member is too stale to catch up"};
constexpr FetcherLine kLeadsWithout{21290, Severity::kWarning,
                                    "This member leads without entries that another one has, and that cannot be read"};
constexpr FetcherLine kHasDiverged{21280, Severity::kWarning, "This member has diverged"};
constexpr FetcherLine kCopiesAnew{21281, Severity::kWarning, "This member needs an initial sync"};
/// The same of one that has nothing yet, as every new member.
constexpr FetcherLine kCopiesAtFirst{kCopiesAnew.id, Severity::kInfo, kCopiesAnew.message};

/// Of the credit: a batch that has less is the last one for now.
constexpr size_t kTailingShare = 16;

FetchEnded endOf(const Fetch& fetch, FetchEnd how, std::string why) {
  return {fetch.source, how, false, std::move(why)};
}

FetchEnded brokenBy(const Fetch& fetch, const Status& failure) {
  const bool isPositionLost = failure == ErrorCode::kCappedPositionLost;
  return endOf(fetch, isPositionLost ? FetchEnd::kTooNew : FetchEnd::kBroken, failure.toString());
}

/// For how long the machine denies that member from this step on; nothing: it does not say so.
std::optional<Millis> denialBegunBy(const machines::Outcome<Fetching>& outcome, const NodeName& host) {
  for (const Effect<Fetching>& effect : outcome.effects) {
    const auto* timer = std::get_if<machines::Arm<Fetching>>(&effect);
    const auto* denial = timer ? std::get_if<DenialOver>(&timer->event) : nullptr;
    if (denial && denial->host == host) return timer->delay;
  }
  return std::nullopt;
}

}  // namespace

OplogFetcher::OplogFetcher(FetcherParts parts)
    : MachineHost(parts.state, {parts.state->document(), {}}, false, hostOptions(parts)), parts_(std::move(parts)) {
  before_ = snapshot();
}

machines::HostOptions<Fetching> OplogFetcher::hostOptions(const FetcherParts& parts) {
  machines::HostOptions<Fetching> options;
  options.perform = [](Actor& host, Action action, Doing doing) {
    return static_cast<OplogFetcher&>(host).perform(std::move(action), std::move(doing));
  };
  options.observe = [figures = parts.figures, next = parts.observe](const auto& now, const auto& outcome) {
    if (figures) figures->count(now, outcome);
    if (next) next(now, outcome);
  };
  return options;
}

/// An operator's choice of a source is checked by what is known now, before the machine gets it.
Behaviour OplogFetcher::behaviour() {
  Behaviour handlers = MachineHost::behaviour();
  const PayloadType type = machines::payloadTypeOf<SyncFrom>();
  auto handle = [this, next = *handlers.find(type)](Context& context) {
    const Status status = checkRequestedSource(look(), context.payload().local<SyncFrom>().host);
    if (!status.isOK()) return context.fail(status);
    next(context);
  };
  handlers.add({type, std::move(handle)});
  return handlers;
}

OpTime OplogFetcher::newest() const {
  const auto fetched = parts_.buffer->newest();
  return fetched ? *fetched : parts_.applied();
}

Candidates OplogFetcher::look() const {
  Candidates known = parts_.candidates();
  known.own = newest();
  return known;
}

Task<OplogFetcher::Outcome> OplogFetcher::perform(Action action, Doing doing) {
  return std::visit(
      [&]<class One>(One& one) {
        if constexpr (std::is_same_v<One, Probe>) return done(std::move(one), std::move(doing));
        else return done(std::move(one));
      },
      action);
}

/// A buffer that was closed is emptied only when the applier is done with it: what it was about to apply would be
/// fetched and applied once more. The machine may have gone on meanwhile: a buffer that was closed for a rollback, a
/// copy or a stop is not this look's to open.
Task<OplogFetcher::Outcome> OplogFetcher::done(LookAround action) {
  if (action.opens && parts_.buffer->isClosed()) {
    if (parts_.drained) TROUPE_CO_TRY(co_await parts_.drained());
    if (!looksForSource(snapshot().memory.phase)) co_return std::optional<Event>();
    if (parts_.buffer->isClosed()) {
      parts_.buffer->reopen();
      if (parts_.opened) parts_.opened();
    }
  }
  co_return std::optional<Event>(look());
}

/// A probe that was given up goes on until its reads end: its answer is no reason of anything any more.
Task<OplogFetcher::Outcome> OplogFetcher::done(Probe action, Doing doing) {
  const auto required = parts_.required ? parts_.required() : std::nullopt;
  why_ = "it has not answered its probe";  // where the machine gives it up
  auto probed = co_await probeLog(*parts_.members, action.source, required);
  if (doing.isCancelled()) co_return std::optional<Event>();
  if (probed.isOK()) {  // the reason of a refusal or a divergence from here on, in place of an earlier failure's
    why_ = "its log goes from " + textOf(probed->oldest) + " to " + textOf(probed->newest) +
           ", and this member's newest entry is " + textOf(newest());
    co_return std::optional<Event>(std::move(*probed));
  }
  why_ = probed.status().toString();
  co_return std::optional<Event>(ProbeFailed{action.source, why_});
}

Task<OplogFetcher::Outcome> OplogFetcher::done(Fetch action) {
  const auto begun = std::make_shared<Pull>();
  begun->source = action.source;
  begun->mission = action.mission;
  begun->began = begun->heard = environment().now();
  begun->last = newest();
  pull_ = begun;
  watchSilence(begun);
  FetchEnded ended = co_await pull(std::move(action), begun);
  ended.progressed = begun->entries > 0;
  begun->isOver = true;
  if (begun->isAbandoned) co_return std::optional<Event>();
  why_ = ended.why;
  co_return std::optional<Event>(std::move(ended));
}

/// A fetch that waits for its source pushes nothing once it is abandoned; only one that waits for room has to end.
Task<OplogFetcher::Outcome> OplogFetcher::done(EndFetch) {
  if (pull_) {
    pull_->isAbandoned = true;
    if (pull_->isPushing) {
      auto pushed = pull_->awaitingPush.emplace_back().future();
      co_await pushed;
    }
  }
  co_return std::optional<Event>(FetchIsOver{pull_ && pull_->entries > 0});
}

Task<OplogFetcher::Outcome> OplogFetcher::done(CloseBuffer) {
  parts_.buffer->close();
  co_return std::optional<Event>();
}

/// What is in the buffer is of the branch that is taken back, and is not applied any more.
Task<OplogFetcher::Outcome> OplogFetcher::done(RollBack action) {
  if (!parts_.rollBack) co_return std::optional<Event>();
  TROUPE_CO_TRY(co_await parts_.rollBack(action.source));
  co_return std::optional<Event>(RollbackEnded{});
}

Task<OplogFetcher::Outcome> OplogFetcher::done(NeedInitialSync) {
  if (!parts_.initialSync) co_return std::optional<Event>();
  const Status copied = co_await parts_.initialSync();
  if (copied == ErrorCode::kNodeNotFound) co_return std::optional<Event>(InitialSyncGivenUp{});
  TROUPE_CO_TRY(copied);
  co_return std::optional<Event>(InitialSyncEnded{});
}

Task<OplogFetcher::Outcome> OplogFetcher::done(EndCatchUp action) {
  if (parts_.endCatchUp) parts_.endCatchUp(action.term);
  co_return std::optional<Event>();
}

/// A topology that began anew after the end was noted is not in that mode any more.
Task<OplogFetcher::Outcome> OplogFetcher::done(SetMaintenance action) {
  if (!parts_.setMaintenance) co_return std::optional<Event>();
  const Status status = co_await parts_.setMaintenance(action.on);
  const bool isOff = !action.on && status == ErrorCode::kOperationFailed;
  if (!status.isOK() && !isOff) co_return status;
  co_return std::optional<Event>();
}

Task<FetchEnded> OplogFetcher::pull(Fetch fetch, std::shared_ptr<Pull> pull) {
  bson::Document find = tailingFind(pull->last);
  auto opened = co_await parts_.members->read(fetch.source, "local", std::move(find), parts_.credit);
  if (!opened.isOK()) co_return brokenBy(fetch, opened.status());
  if (parts_.figures) parts_.figures->noteReader();
  FetchEnded ended = co_await readOn(fetch, pull, **opened);
  co_return ended;
}

void OplogFetcher::watchSilence(std::shared_ptr<Pull> pull) {
  const Duration left = pull->isPushing ? Fetching::kSilence : pull->heard + Fetching::kSilence - environment().now();
  after(std::max<Duration>(left, Fetching::kSilence / 4), [this, pull] {
    if (pull->isOver || pull->isAbandoned) return;
    noteSilence(*pull);
    watchSilence(pull);
  });
}

/// A process that was stopped for a while finds its timers due before it has read what has come: it looks twice. Where
/// the machine would wait anyway it is not told: each message takes the place of another one in the trace. A new
/// primary that has fetched all it is to catch up with awaits its applier, not its source.
void OplogFetcher::noteSilence(Pull& pull) {
  const Duration silence = environment().now() - pull.heard;
  const bool follows = pull.mission == Mission::kFollow;
  if (pull.isPushing || silence < (follows && pull.isTailing ? Fetching::kSilence : Fetching::kLongSilence)) return;
  if (!follows && pull.last >= snapshot().document.target) return;
  if (std::exchange(pull.suspected, pull.heard) != pull.heard) return;
  const Candidates known = parts_.candidates();
  const bool isElsewhere = known.primary != pull.source && known.primary != known.name;
  if (follows && (known.primary.empty() || !isElsewhere)) return;
  why_ = fmt::format("nothing has come from it for {} ms", std::chrono::duration_cast<Millis>(silence).count());
  take(SourceSilent{pull.source, known.primary});
}

Task<FetchEnded> OplogFetcher::readOn(Fetch fetch, std::shared_ptr<Pull> pull, RemoteDocuments& documents) {
  for (bool isFirst = true;; isFirst = false) {
    if (pull->isAbandoned) co_return FetchEnded{};
    if (std::string why = whyToChange(snapshot(), look()); !why.empty())
      co_return endOf(fetch, FetchEnd::kUnfit, std::move(why));
    const TimePoint asked = environment().now();
    const auto batch = co_await documents.next();
    // One that has nothing more shows a follower that it lives. A new primary waits for entries.
    const bool hasMore = batch.isOK() && !batch->empty();
    if (isFirst || hasMore || pull->mission == Mission::kFollow) pull->heard = environment().now();
    if (parts_.figures)
      parts_.figures->noteBatch(std::chrono::duration_cast<std::chrono::microseconds>(environment().now() - asked));
    if (pull->isAbandoned) co_return FetchEnded{};
    if (!batch.isOK()) co_return brokenBy(fetch, batch.status());
    const bool hasLog = pull->last != OpTime();
    if (isFirst) {
      // What the views refer to stays until the next batch is asked for.
      std::optional<FetchEnded> unfit = co_await checkFirst(fetch, pull->last, *batch);
      pull->heard = environment().now();
      if (pull->isAbandoned) co_return FetchEnded{};
      if (unfit) co_return std::move(*unfit);
    }
    std::vector<FetchedEntry> entries;
    if (!takeEntries(*batch, isFirst && hasLog ? 1 : 0, pull->last, entries))
      co_return endOf(fetch, FetchEnd::kDamaged, "its entries do not follow each other");
    pull->isTailing = !isFirst && bytesOf(entries) < parts_.credit / kTailingShare;
    if (entries.empty()) continue;
    const bool pushed = co_await push(pull, std::move(entries));
    if (!pushed) co_return endOf(fetch, FetchEnd::kClosed, "the buffer was closed");
  }
}

/// REP-010, REP-013, REP-014, REP-017.
Task<std::optional<FetchEnded>> OplogFetcher::checkFirst(Fetch fetch, OpTime last, std::vector<bson::View> entries) {
  if (entries.empty()) co_return endOf(fetch, FetchEnd::kBehind, "it has no entry from this member's newest one on");
  const auto first = opTimeOf(entries.front());
  if (!first) co_return endOf(fetch, FetchEnd::kDamaged, "its first entry has no time");
  if (last == OpTime()) co_return endOf(fetch, FetchEnd::kRolledBack, "this member has no data to go on from");
  if (*first != last) {
    const auto oldest = co_await oldestEntry(*parts_.members, fetch.source);
    if (!oldest.isOK()) co_return endOf(fetch, FetchEnd::kBroken, oldest.status().toString());
    if (*opTimeOf(oldest->view()) > last)
      co_return endOf(fetch, FetchEnd::kTooNew, "its log begins behind this member's newest entry by now");
    co_return endOf(fetch, FetchEnd::kDiverged, "it does not have this member's newest entry");
  }
  const auto rollbackId = co_await rollbackIdOf(*parts_.members, fetch.source);
  if (!rollbackId.isOK()) co_return endOf(fetch, FetchEnd::kBroken, rollbackId.status().toString());
  if (*rollbackId != fetch.rollbackId)
    co_return endOf(fetch, FetchEnd::kRolledBack, "it has rolled back since it was chosen");
  co_return std::nullopt;
}

Task<bool> OplogFetcher::push(std::shared_ptr<Pull> pull, std::vector<FetchedEntry> entries) {
  const OpTime last = entries.back().opTime;
  const auto count = static_cast<int64_t>(entries.size()), bytes = static_cast<int64_t>(bytesOf(entries));
  pull->isPushing = true;
  const bool pushed = co_await parts_.buffer->push(std::move(entries));
  pull->isPushing = false;
  pull->heard = environment().now();
  if (pushed) {
    pull->last = last;
    pull->entries += count;
    pull->bytes += bytes;
    ++pull->batches;
    if (parts_.figures) parts_.figures->noteEntries(count, bytes);
  }
  for (auto& waiter : std::exchange(pull->awaitingPush, {})) waiter.set(troupe::Done{});
  co_return pushed;
}

void OplogFetcher::unanswered(const Event& event, Context asker) {
  if (std::holds_alternative<StopFetching>(event)) stops_.push_back(std::move(asker));
}

void OplogFetcher::answerStops() {
  if (snapshot().memory.isPulling) return;
  for (Context& asker : std::exchange(stops_, {})) asker.reply(local(Done{}));
}

void OplogFetcher::transitioned(const machines::Outcome<Fetching>& outcome) {
  answerStops();
  logChange(outcome);
  before_ = snapshot();
}

void OplogFetcher::log(const FetcherLine& line, const bson::Document& attributes) const {
  if (parts_.log) parts_.log(line, attributes);
}

void OplogFetcher::logDenials(const machines::Outcome<Fetching>& outcome) const {
  const Fetching::Memory& was = before_.memory;
  const auto logOf = [&](const NodeName& host, Denial why) {
    bson::Builder about;
    about.append("host", host).append("reason", machines::EnumNames<Denial>::name(why));
    if (const auto pause = denialBegunBy(outcome, host))  // else the catch-up asks it no more
      about.append("seconds", int64_t{std::chrono::floor<std::chrono::seconds>(*pause).count()});
    log(kDenied, about.append("error", why_).finish());
  };
  for (const auto& [host, why] : snapshot().memory.denied)
    if (!was.denied.contains(host)) logOf(host, why);
  for (const auto& [host, why] : snapshot().memory.left)
    if (!was.left.contains(host)) logOf(host, why);
}

void OplogFetcher::logEndOfCatchUp(const Snapshot<Fetching>& now) const {
  constexpr int32_t kMost = Fetching::kFruitlessLooks;
  if (now.memory.fruitless < kMost || before_.memory.fruitless == kMost || newest() >= now.document.target) return;
  bson::Builder about;
  about.append("term", now.document.term).append("wanted", textOf(now.document.target));
  about.append("newest", textOf(newest()));
  // Where no source was asked it is of an earlier one.
  if (!now.memory.left.empty() || !now.memory.denied.empty()) about.append("error", why_);
  log(kLeadsWithout, about.finish());
}

void OplogFetcher::logChange(const machines::Outcome<Fetching>& outcome) {
  const auto &was = before_.memory, &is = snapshot().memory;
  logDenials(outcome);
  logEndOfCatchUp(snapshot());
  if (is.restarts > was.restarts)
    log(kRestarting, bson::doc("syncSource", is.source, "restarts", is.restarts, "error", why_));
  if (is.phase == was.phase) return;
  const char* meaning = Fetching::kPhases[is.phase].meaning;
  using enum Fetching::Phase;
  switch (is.phase) {
    case kFetching: return log(kChosen, bson::doc("syncSource", is.source));
    case kTooStale:  // again after each probe of a source
      if (!before_.document.maintenance) log(kTooStaleToCatchUp, bson::doc("meaning", meaning));
      return;
    case kDiverged: return log(kHasDiverged, bson::doc("syncSource", is.source, "error", why_));
    case kNeedsInitialSync:
      return log(is.own == OpTime() ? kCopiesAtFirst : kCopiesAnew, bson::doc("syncSource", is.source));
    case kChoosing:
      if (was.phase == kFetching) log(kChoosingAnew, bson::doc("previous", was.source, "reason", why_));
      return;
    case kProbing:
    case kEnding:
    case kIdle: return;
  }
}

bson::Document OplogFetcher::describe() const {
  bson::Builder out;
  const auto figures = parts_.buffer->figures();
  out.append("document", MachineHost::describe()).append("memory", machines::toBson(snapshot().memory));
  out.append("newest", shownOpTime(newest()));
  const Candidates known = parts_.candidates();
  if (const SourceCandidate* primary = known.find(known.primary))
    out.append("lagSecs", int64_t{primary->applied.timestamp.seconds} - int64_t{newest().timestamp.seconds});
  out.append("buffer",
             bson::doc("entries", static_cast<int64_t>(figures.entries), "bytes", static_cast<int64_t>(figures.bytes),
                       "maxBytes", static_cast<int64_t>(figures.maxBytes)));
  if (pull_ && snapshot().memory.isPulling) {
    const double seconds = std::chrono::duration<double>(environment().now() - pull_->began).count();
    out.append("fetch", bson::doc("syncSource", pull_->source, "position", shownOpTime(pull_->last), "entries",
                                  pull_->entries, "bytes", pull_->bytes, "batches", pull_->batches, "entriesPerSecond",
                                  seconds > 0 ? static_cast<double>(pull_->entries) / seconds : 0.0));
  }
  return out.finish();
}

}  // namespace troupe::replication
