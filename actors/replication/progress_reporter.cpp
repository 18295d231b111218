#include "actors/replication/progress_reporter.hpp"

#include <algorithm>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/machines/message_binding.hpp"
#include "messaging/clock/shown_op_time.hpp"

namespace troupe::replication {

namespace {

/// Between two reports of what is applied to the topology, which decides nothing by it that is in a hurry.
constexpr Duration kTopologyPace = std::chrono::milliseconds(100);
constexpr Duration kAfterFailure = std::chrono::milliseconds(500);
/// How long a report of what is applied waits for its flush.
constexpr Duration kUntilDurable = std::chrono::milliseconds(1);
/// The same where the last flush took less: a timer for each batch would cost more than it is worth.
constexpr Duration kHungFlush = std::chrono::milliseconds(10);
/// Between two messages about the commit point to members that report all the time, whose answers bring it as well.
constexpr Duration kPointPace = std::chrono::milliseconds(5);
/// Election timeouts by this number: how often the topology is told of a member's sign of life.
constexpr int kLifeShare = 5;

/// A handler of a described message, which may come from another node.
template <class T, class F>
Handler onMessage(F handle) {
  auto run = [handle = std::move(handle)](Context& context) {
    const auto message = machines::fromPayload<T>(context.payload());
    if (!message.isOK()) return context.fail(message.status());
    handle(*message, context);
  };
  return {machines::payloadTypeOf<T>(), std::move(run)};
}

/// The topology waits for what this member applies.
bool isInHurry(Topology::Phase phase) {
  return phase == Topology::Phase::kCatchingUp || phase == Topology::Phase::kSteppingDown;
}

}  // namespace

Behaviour ProgressReporter::behaviour() {
  return {on<Moved>([this](const Moved&) { moved(); }), on<SourceChosen>([this](const SourceChosen&) {
            tellTopology();
            watchAll();
            report();
          }),
          onMessage<PositionReport>([this](const PositionReport& report, Context& context) { take(report, context); }),
          onMessage<CommitPointNews>([this](const CommitPointNews& news, Context&) { take(news); })};
}

void ProgressReporter::onStart() {
  setPhase("reporting", "carries positions to the source and the commit point to members below");
  moved();
  keepAlive();
}

void ProgressReporter::onStop(const Status&) { parts_.progress.withdraw(waiter_); }

Duration ProgressReporter::electionTimeout() const {
  const auto view = parts_.membership.view();
  return view->config() ? Duration(view->config()->settings.electionTimeoutMillis) : std::chrono::seconds(10);
}

/// Twice in an election timeout, or a reader of liveness would take silence for death; a primary as often as it sends
/// heartbeats.
void ProgressReporter::keepAlive() {
  const auto view = parts_.membership.view();
  const bool leads = view->isWritable();
  const Duration pause = leads ? Duration(view->config()->heartbeatInterval()) : electionTimeout() / 2;
  after(pause, [this] { keepAlive(); });
  tellTopology();
  if (leads) tellAll();
  else if (environment().now() - reportedAt_ >= pause / 2) report();
}

/// A primary reports to nobody. As long as the topology is to be told of what it applies at its pace, only the commit
/// point is news.
void ProgressReporter::watchProgress() {
  const auto wake = [node = &node(), to = self()] { node->tell(to, local(Moved{})); };
  const bool isTold = topologyTimer_ && !isInHurry(parts_.membership.view()->topology.memory.phase);
  watchesAll_ = !isTold || !parts_.progress.role()->leads;
  waiter_ = watchesAll_ ? parts_.progress.whenMoved(seen_, wake)
                        : parts_.progress.whenCommitPointMoved(seen_.commitPoint, wake);
}

/// A message that is under way watches anew when it comes.
void ProgressReporter::watchAll() {
  if (!watchesAll_ && parts_.progress.withdraw(waiter_)) moved();
}

/// However often the times move while a message waits, it is one message.
void ProgressReporter::moved() {
  const ReplicationProgress::Times before = std::exchange(seen_, parts_.progress.times());
  tellTopology();
  reportMove(before);
  if (std::exchange(told_, seen_.commitPoint) != seen_.commitPoint) tellBelowInTime();
  watchProgress();
}

/// Each report costs its sender and its receiver some fixed work, mostly in waking each other.
void ProgressReporter::reportMove(const ReplicationProgress::Times& before) {
  if (parts_.source().empty()) return;  // a new one is told by `SourceChosen`
  const bool isAhead = seen_.applied > seen_.durable;
  const bool isFlushed = seen_.durable != before.durable;
  if (!isFlushed && seen_.applied == before.applied) return;  // the commit point alone
  timeFlush(isAhead, isFlushed);
  if (isFlushed || !isAhead || countsWhatIsApplied()) return report();
  reportInTime();
}

void ProgressReporter::reportInTime() {
  if (std::exchange(reportTimer_, true)) return;
  after(isFlushSlow_ ? kUntilDurable : kHungFlush, [this] {
    reportTimer_ = false;
    if (reported_.applied == seen_.applied || !aheadSince_ || parts_.source().empty()) return;
    const bool isLate = isFlushSlow_ || environment().now() - *aheadSince_ >= kUntilDurable;
    if (isLate) report();
    else reportInTime();
  });
}

void ProgressReporter::timeFlush(bool isAhead, bool isFlushed) {
  const TimePoint now = environment().now();
  if (isFlushed) {
    isFlushSlow_ = aheadSince_ && now - *aheadSince_ > kUntilDurable;
    aheadSince_.reset();
  }
  if (isAhead && !aheadSince_) aheadSince_ = now;
}

/// The set waits for what this member applies, whether it is durable or not.
bool ProgressReporter::countsWhatIsApplied() const {
  return !parts_.progress.role()->config.writeConcernMajorityJournalDefault ||
         isInHurry(parts_.membership.view()->topology.memory.phase);
}

void ProgressReporter::tellTopology() {
  const AppliedAdvanced news{seen_.applied, seen_.durable, parts_.source()};
  const bool hasNothing = news.applied == OpTime{} && toldTopology_.applied == OpTime{};
  if (hasNothing || news == toldTopology_) return;
  const Duration since = environment().now() - toldTopologyAt_;
  const bool isOfSameTerm = news.applied.term == toldTopology_.applied.term;
  if (isOfSameTerm && since < kTopologyPace && !isInHurry(parts_.membership.view()->topology.memory.phase)) {
    if (!std::exchange(topologyTimer_, true))
      after(kTopologyPace - since, [this] {
        topologyTimer_ = false;
        if (watchesAll_) tellTopology();
        else watchAll();
      });
    return;
  }
  toldTopology_ = news;
  toldTopologyAt_ = environment().now();
  parts_.tellTopology(news);
}

void ProgressReporter::report() {
  const NodeName source = parts_.source();
  if (source.empty()) return;
  if (reportingTo_ == source) again_ = true;
  else start(reportWhileMoving());
}

/// One report is under way at a time; what has moved meanwhile goes with the next. One to an earlier source, which may
/// have stopped to answer, is waited for no longer.
Task<void> ProgressReporter::reportWhileMoving() {
  const uint64_t mine = ++reporter_;
  do {
    again_ = false;
    const NodeName source = reportingTo_ = parts_.source();
    if (source.empty()) break;
    reportedAt_ = environment().now();
    ++reports_;
    const Answer answer =
        co_await ask(Address(source, kProgressPath), machines::toMessage(makeReport()), electionTimeout() / 2);
    if (mine != reporter_) co_return;
    if (!answer.isOK()) {
      ++failedReports_;
      after(kAfterFailure, [this] { report(); });
      break;
    }
    const auto news = machines::fromPayload<CommitPointNews>(*answer);
    if (news.isOK()) take(*news);
  } while (again_);
  reportingTo_.clear();
}

/// The own position and those that were heard from members below; of others their reports go another way.
PositionReport ProgressReporter::makeReport() {
  const auto now = parts_.progress.report();
  if (const auto own = now.positions.find(now.self); own != now.positions.end()) reported_ = own->second;
  PositionReport report{now.self, now.term, now.config, {}, now.replicaSetId};
  for (const auto& [host, position] : now.positions)
    if (host == now.self || below_.contains(host))
      report.positions.push_back({host, position.applied, position.durable, distanceOf(host)});
  return report;
}

/// As a report tells of it. What is said of a member that has been silent for the election timeout is its position
/// only: the receiver would take it for alive once more (REP-049).
int32_t ProgressReporter::distanceOf(const NodeName& host) const {
  const auto known = below_.find(host);
  if (known == below_.end() || environment().now() - known->second.livedAt >= electionTimeout()) return 0;
  return known->second.distance + 1;
}

void ProgressReporter::noteLife(const PositionReport& report) {
  const TimePoint now = environment().now();
  const auto role = parts_.progress.role();
  MembersHeard heard;
  for (const MemberPosition& each : report.positions) {
    if (each.host == role->self) continue;
    Below& member = below_[each.host];
    member.reportedAt = now;
    if (each.host != report.from && each.distance <= 0) continue;
    member.livedAt = now;
    member.distance = each.host == report.from ? 0 : each.distance;
    if (member.toldAt != TimePoint{} && now - member.toldAt < electionTimeout() / kLifeShare) continue;
    member.toldAt = now;
    heard.members.push_back({each.host, member.distance, each.applied});
  }
  if (!heard.members.empty()) parts_.tellOfLife(std::move(heard));
}

/// The first configs of two sets of one name have the same version, and may have the same term.
Status ProgressReporter::checkOrigin(const NodeName& from, const ReplicaSetId& set, const ConfigVersion& config) const {
  const auto role = parts_.progress.role();
  TROUPE_TRY(checkSameSet(from, parts_.membership.setName(), set, role->config.settings.replicaSetId));
  if (config == role->config.configVersion()) return Status::OK();
  return {ErrorCode::kInvalidReplicaSetConfig, "the report is of another config of the set"};
}

/// What a report says about this member itself it knows better (REP-050). A later term ends the commits of this one: a
/// primary that went on in it would take writes that nobody can acknowledge.
void ProgressReporter::take(const PositionReport& report, Context& context) {
  ++received_;
  if (const Status fits = checkOrigin(report.from, report.replicaSetId, report.config); !fits.isOK())
    return context.fail(fits);
  const auto view = parts_.membership.view();
  if (!isPlausibleTerm(view->topology, report.term))
    return context.fail({ErrorCode::kBadValue, "the term of the report is none that elections lead to"});
  parts_.progress.noteTerm(report.term);
  if (report.term > std::max(view->topology.memory.term, toldTerm_)) parts_.tellOfTerm({toldTerm_ = report.term});
  const bool isSteppingDown = view->topology.memory.phase == Topology::Phase::kSteppingDown;
  noteLife(report);
  bool isNews = false;
  for (const MemberPosition& each : report.positions) {
    if (parts_.progress.notePosition(each.host, {each.applied, each.durable})) isNews = true;
    if (isSteppingDown) parts_.tellOfMember({each.host, each.applied});
  }
  const CommitPointNews told = news();
  context.reply(machines::toMessage(told));
  if (const auto from = below_.find(report.from); from != below_.end()) from->second.toldPoint = told.commitPoint;
  if (isNews) this->report();  // and on (REP-051)
}

void ProgressReporter::take(const CommitPointNews& news) {
  if (!checkOrigin(news.from, news.replicaSetId, news.config).isOK()) return;  // REP-028
  if (news.from == parts_.source()) parts_.progress.learnFromSource(news.commitPoint);
  else parts_.progress.learnFromHeartbeat(news.commitPoint);
}

CommitPointNews ProgressReporter::news() const {
  const auto role = parts_.progress.role();
  const ReplicaSetConfig& config = role->config;
  return {role->self, role->term, config.configVersion(), parts_.progress.commitPoint(), config.settings.replicaSetId};
}

void ProgressReporter::tellBelowInTime() {
  const Duration since = environment().now() - toldBelowAt_;
  if (since >= kPointPace) return tellBelow();
  if (std::exchange(pointTimer_, true)) return;
  after(kPointPace - since, [this] {
    pointTimer_ = false;
    tellBelow();
  });
}

void ProgressReporter::tellBelow() {
  toldBelowAt_ = environment().now();
  std::erase_if(below_,
                [&](const auto& each) { return each.second.reportedAt + 2 * electionTimeout() < environment().now(); });
  if (below_.empty()) return;
  const CommitPointNews now = news();
  const Payload told = machines::toMessage(now);
  for (const auto& [host, known] : below_)
    if (known.toldPoint != now.commitPoint) tell(Address(host, kProgressPath), told);
}

void ProgressReporter::tellAll() {
  const auto role = parts_.progress.role();
  const Payload told = machines::toMessage(news());
  for (const MemberConfig& member : role->config.members)
    if (member.host != role->self) tell(Address(member.host, kProgressPath), told);
}

bson::Document ProgressReporter::describe() const {
  const auto times = parts_.progress.times();
  return bson::doc("source", parts_.source(), "applied", shownOpTime(times.applied), "durable",
                   shownOpTime(times.durable), "commitPoint", shownOpTime(times.commitPoint), "reports", reports_,
                   "failedReports", failedReports_, "received", received_, "membersBelow",
                   static_cast<int64_t>(below_.size()), "waiting", static_cast<int64_t>(parts_.progress.waiters()));
}

}  // namespace troupe::replication
