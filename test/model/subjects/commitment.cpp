#include "test/model/subjects/commitment.hpp"

#include <algorithm>

namespace troupe::model::commitment {

using Phase = Replica::Phase;
using Document = Replica::Document;
using Memory = Replica::Memory;

namespace {

/// Delays mean nothing here.
constexpr machines::Millis kAnyTime{1000};

replication::ReplicaSetConfig configOf(const Document& d) {
  replication::ReplicaSetConfig config;
  const auto add = [&](const NodeName& host) {
    config.members.push_back({.id = static_cast<int32_t>(config.members.size()), .host = host, .tags = {}});
  };
  add(d.self);
  for (const NodeName& other : d.others) add(other);
  return config;
}

/// A later term ends every role.
void hear(Document& d, Memory& m, int64_t term) {
  if (term <= d.term) return;
  d.term = term;
  m.phase = Phase::kFollowing;
  m.votes.clear();
  m.positions.clear();
}

void count(const Document& d, Memory& m) {
  if (m.phase != Phase::kLeading) return;
  Positions all = m.positions;
  all[d.self] = {newestOf(d.log), newestOf(d.log)};
  m.commitPoint = replication::commitPoint(configOf(d), all, d.term, m.commitPoint);
}

Step<Replica> become(const Document& d, const Memory& m) { return Replica::stay().with(d).remembering(m); }

Step<Replica> stand(const Snapshot<Replica>& now, const Stand&) {
  Document d = now.document;
  Memory m = now.memory;
  hear(d, m, d.term + 1);
  d.votedIn = d.term;
  m.phase = Phase::kStanding;
  m.votes = {d.self};
  std::vector<machines::Effect<Replica>> effects{Replica::after(kAnyTime, Stand{})};
  for (const NodeName& other : d.others)
    effects.push_back(Replica::send(other, VoteRequest{d.self, d.term, newestOf(d.log)}));
  return become(d, m).then(effects);
}

/// A voter judges by what it has, at the moment at which it votes.
Step<Replica> vote(const Snapshot<Replica>& now, const VoteRequest& e) {
  Document d = now.document;
  Memory m = now.memory;
  hear(d, m, e.term);
  const bool grants = e.term == d.term && d.votedIn < e.term && e.applied >= newestOf(d.log);
  if (!grants) return become(d, m);
  d.votedIn = e.term;
  return become(d, m).then(Replica::send(e.from, VoteReply{d.self, d.term}));
}

/// A new primary begins with an entry of its own term.
Step<Replica> takeVote(const Snapshot<Replica>& now, const VoteReply& e) {
  Document d = now.document;
  Memory m = now.memory;
  if (e.term != d.term) return Replica::stay();
  m.votes.insert(e.from);
  if (m.votes.size() * 2 > d.others.size() + 1) {
    m.phase = Phase::kLeading;
    m.votes.clear();
    d.log.push_back(d.term);
  }
  return become(d, m);
}

Step<Replica> write(const Snapshot<Replica>& now, const Write&) {
  Document d = now.document;
  d.log.push_back(d.term);
  return Replica::stay().with(d);
}

Step<Replica> pull(const Snapshot<Replica>& now, const Pull& e) {
  auto again = Replica::after(kAnyTime, e);
  if (now.memory.phase == Phase::kLeading) return Replica::stay().then(again);
  return Replica::stay().then(again).then(Replica::send(e.from, Fetch{now.document.self}));
}

Step<Replica> give(const Snapshot<Replica>& now, const Fetch& e) {
  const Document& d = now.document;
  return Replica::stay().then(Replica::send(e.from, Batch{d.self, d.log}),
                              Replica::send(e.from, News{now.memory.commitPoint}));
}

/// What its source does not have and is older than the source's end is rolled back. Fetching knows no terms: a member
/// may have voted already and still go on with the log of the last primary.
Step<Replica> follow(const Snapshot<Replica>& now, const Batch& e) {
  Document d = now.document;
  Memory m = now.memory;
  if (m.phase == Phase::kLeading || newestOf(e.log) < newestOf(d.log)) return Replica::stay();
  d.log = e.log;
  return become(d, m).then(Replica::send(e.from, Report{d.self, d.term, newestOf(d.log)}));
}

Step<Replica> learn(const Snapshot<Replica>& now, const News& e) {
  Memory m = now.memory;
  if (m.phase == Phase::kLeading) return Replica::stay();
  m.commitPoint = replication::learnedFromSource(e.commitPoint, newestOf(now.document.log), m.commitPoint);
  return Replica::stay().remembering(m);
}

/// A batch that came late is a report that comes late: it says what the member had then.
Step<Replica> takeReport(const Snapshot<Replica>& now, const Report& e) {
  Document d = now.document;
  Memory m = now.memory;
  hear(d, m, e.term);
  if (m.phase != Phase::kLeading) return become(d, m);
  auto& known = m.positions[e.from];
  known.applied = known.durable = std::max(known.durable, e.position);
  count(d, m);
  return become(d, m);
}

}  // namespace

OpTime opTimeOf(const Log& log, size_t length) {
  if (length == 0) return {};
  return {log[length - 1], {static_cast<uint32_t>(length), 0}};
}

const Transitions<Replica>& Replica::transitions() {
  static const Transitions<Replica> table{anywhere<Stand>({Phase::kStanding}, stand),
                                          row<Write>(Phase::kLeading, {}, write),
                                          anywhere<Pull>({}, pull),
                                          anywhere<VoteRequest>({Phase::kFollowing}, vote),
                                          row<VoteReply>(Phase::kStanding, {Phase::kLeading}, takeVote),
                                          anywhere<Fetch>({}, give),
                                          anywhere<Batch>({}, follow),
                                          anywhere<News>({}, learn),
                                          anywhere<Report>({Phase::kFollowing}, takeReport)};
  return table;
}

Step<Replica> Replica::resume(const Document& document) {
  std::vector<machines::Effect<Replica>> timers{after(kAnyTime, Stand{})};
  for (const NodeName& other : document.others) timers.push_back(after(kAnyTime, Pull{other}));
  return stay().then(timers);
}

/// The commit point is an entry of the own log, or of one that this member has rolled back: then it says so wrongly.
void Replica::facts(const NodeName&, const Snapshot<Replica>& now, Facts& facts) {
  const OpTime& committed = now.memory.commitPoint;
  for (size_t length = 1; length <= now.document.log.size(); ++length)
    if (opTimeOf(now.document.log, length) <= committed)
      facts.state("entry " + std::to_string(length), "of term " + std::to_string(now.document.log[length - 1]));
}

Model replicas(const Scope& scope) {
  Model model;
  std::vector<NodeName> names;
  for (int i = 1; i <= scope.members; ++i) names.push_back("n" + std::to_string(i));
  model.network = Network::kEverlasting;
  for (const auto& self : names) {
    Document document{.self = self, .others = {}, .log = {}};
    for (const auto& other : names)
      if (other != self) document.others.push_back(other);
    model.machine<Replica>(self, document);
    model.client<Replica>(self, Write{}, scope.writes);
  }
  model.within<Replica>([scope](const Snapshot<Replica>& now) {
    return now.document.term <= scope.terms && now.document.log.size() <= scope.entries;
  });
  return model;
}

}  // namespace troupe::model::commitment
