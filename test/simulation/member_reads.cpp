#include "test/simulation/member_reads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::sim {

namespace {

constexpr size_t kReaders = 8;
/// In the order of the kinds of sessions.
constexpr const char* kKinds[] = {"primary", "nearest", "majority"};

std::vector<bson::Document> documentsIn(bson::View reply) {
  std::vector<bson::Document> found;
  for (const bson::Element& e : reply.at("cursor.firstBatch").asArray()) found.emplace_back(e.asDocument());
  return found;
}

}  // namespace

MemberReads::MemberReads(Simulation& cluster, ReplicaSet& set, std::function<void(const std::string&)> ended,
                         std::function<void(const char*, const std::string&)> broken)
    : cluster_(cluster),
      set_(set),
      ended_(std::move(ended)),
      broken_(std::move(broken)),
      machine_(cluster.addMachine("readers")) {
  for (size_t i = 0; i < kReaders; ++i) {
    const Kind kind = i % 2 == 0 ? Kind::kPrimary : i % 4 == 1 ? Kind::kNearest : Kind::kMajority;
    const auto preference = kind == Kind::kPrimary ? Driver::Preference::kPrimary : Driver::Preference::kNearest;
    auto driver = std::make_unique<Driver>(machine_, cluster.streams(), cluster.nodes(), nullptr, preference);
    sessions_.push_back({std::move(driver), kind});
  }
}

bool MemberReads::ask(uint64_t chance) {
  Session& session = sessions_[chance % sessions_.size()];
  if (std::exchange(session.isBusy, true)) return false;
  machine_.start(read(&session));
  return true;
}

bson::Document MemberReads::findOf(Kind kind) const {
  bson::Builder find;
  find.append("find", StateDocuments::kCollection).append("batchSize", 1000).append("singleBatch", true);
  find.append("$readPreference", bson::doc("mode", kind == Kind::kPrimary ? "primary" : "nearest"));
  if (kind != Kind::kMajority) return find.finish();
  bson::Builder concern;
  concern.append("level", "majority");
  if (!times_.empty()) concern.append("afterClusterTime", times_["operationTime"]);
  if (!times_.empty()) find.append("$clusterTime", times_["$clusterTime"]);
  find.append("readConcern", concern.finish());
  return find.finish();
}

DocumentLedger::Times MemberReads::acknowledgedUpToKnown() const {
  if (times_.empty()) return {};
  const bson::Timestamp known = times_["operationTime"].asTimestamp();
  return set_.ledger().newestAcknowledged([known](const OpTime& at) { return at.timestamp <= known; });
}

void MemberReads::learnTimes(bson::View reply) {
  const bson::Element time = reply["operationTime"];
  if (!time.is(bson::Type::kTimestamp)) return;
  if (!times_.empty() && time.asTimestamp() <= times_["operationTime"].asTimestamp()) return;
  times_ = bson::doc("operationTime", time, "$clusterTime", reply["$clusterTime"]);
}

Task<void> MemberReads::read(Session* session) {
  const Marks before = marks();
  const bool isMajority = session->kind == Kind::kMajority;
  DocumentLedger::Times least;
  if (isMajority) least = acknowledgedUpToKnown();
  const bson::Document find = findOf(session->kind);
  const DriverReply reply = co_await session->driver->run(StateDocuments::kDatabase, find, Driver::Retry::kOnce);
  session->isBusy = false;
  ended_(reply.status.isOK() ? "" : errorName(reply.status.code()));
  const std::string node = session->driver->server();
  cluster_.note(TraceEvent::Kind::kNote, "", "reader of the set", kKinds[static_cast<size_t>(session->kind)],
                reply.status.isOK() ? node : errorName(reply.status.code()));
  if (!reply.status.isOK()) {
    if (!reply.isExplained) broken_(kAnswersExplained, reply.status.toString());
    co_return;
  }
  const std::vector<bson::Document> found = documentsIn(reply.body);
  std::string why = set_.ledger().shown(found, least);
  // A majority read of the primary itself may come before its newest writes have reached one.
  if (why.empty() && !isMajority) why = compareWithOwn(node, before, found);
  if (!why.empty()) broken_(kInvariant, fmt::format("{}: {}", node, why));
  if (isMajority) learnTimes(reply.body);
}

MemberReads::Marks MemberReads::marks() const {
  Marks made;
  for (const std::string& node : cluster_.nodes()) {
    const int64_t term = cluster_.isAlive(node) ? termOf(node) : 0;
    if (term == 0) continue;
    Mark& mark = made[node];
    mark.term = term;
    mark.log = set_.documents(node).log();
    mark.acknowledged = set_.ledger().newestAcknowledged([term](const OpTime& at) { return at.term <= term; });
    if (set_.documents(node).logTerm() != term) continue;
    for (const auto& [key, values] : *mark.log) mark.committed[key] = values.size();
  }
  return made;
}

int64_t MemberReads::termOf(const std::string& node) const {
  const auto view = cluster_.life(node).assembly().membership()->view();
  return view->isWritable() ? view->topology.memory.term : 0;
}

/// Of a node that has crashed meanwhile nothing is promised: the read may have come before the crash or after it, and
/// what was not durable is gone.
std::string MemberReads::compareWithOwn(const std::string& node, const Marks& before,
                                        const std::vector<bson::Document>& found) const {
  const auto mark = before.find(node);
  if (mark == before.end() || !cluster_.isAlive(node)) return {};
  if (set_.documents(node).log() != mark->second.log || termOf(node) != mark->second.term) return {};
  std::map<int64_t, int64_t> seen;
  for (const bson::Document& document : found) seen[document["_id"].toInt64()] = document["n"].toInt64();
  for (const auto& [key, committed] : mark->second.committed) {
    const auto shown = seen.find(key);
    const auto& values = mark->second.log->at(key);
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(committed) - 1;
    if (shown != seen.end() && std::find(from, values.end(), shown->second) != values.end()) continue;
    return fmt::format("{} of document {}, and it had committed {}",
                       shown == seen.end() ? "nothing" : std::to_string(shown->second), key, *from);
  }
  return set_.ledger().shown(found, mark->second.acknowledged);
}

}  // namespace troupe::sim
