#include "test/simulation/member_reads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::sim {

namespace {

constexpr size_t kReaders = 6;

bson::Document findOf(bool fromPrimary) {
  const char* mode = fromPrimary ? "primary" : "nearest";
  return bson::doc("find", "written", "batchSize", 1000, "singleBatch", true, "$readPreference",
                   bson::doc("mode", mode));
}

}  // namespace

MemberReads::MemberReads(Simulation& cluster, ReplicaSet& set, std::function<void(const std::string&)> ended,
                         std::function<void(const char*, const std::string&)> broken)
    : cluster_(cluster),
      set_(set),
      ended_(std::move(ended)),
      broken_(std::move(broken)),
      machine_(cluster.addMachine("clients")) {
  for (size_t i = 0; i < kReaders; ++i) {
    const bool fromPrimary = i % 2 == 0;
    const auto preference = fromPrimary ? Driver::Preference::kPrimary : Driver::Preference::kNearest;
    auto driver = std::make_unique<Driver>(machine_, cluster.streams(), cluster.nodes(), nullptr, preference);
    sessions_.push_back({std::move(driver), fromPrimary});
  }
}

bool MemberReads::ask(uint64_t chance) {
  Session& session = sessions_[chance % sessions_.size()];
  if (std::exchange(session.isBusy, true)) return false;
  machine_.start(read(&session));
  return true;
}

Task<void> MemberReads::read(Session* session) {
  const Marks before = marks();
  const DriverReply reply = co_await session->driver->run("config", findOf(session->fromPrimary), Driver::Retry::kOnce);
  session->isBusy = false;
  ended_(reply.status.isOK() ? "" : errorName(reply.status.code()));
  cluster_.note(TraceEvent::Kind::kNote, "", "reader of the set", session->fromPrimary ? "primary" : "nearest",
                reply.status.isOK() ? session->driver->server() : errorName(reply.status.code()));
  if (reply.status.isOK()) compare(session->driver->server(), before, reply.body);
  else if (!reply.isExplained) broken_(kAnswersExplained, reply.status.toString());
}

MemberReads::Marks MemberReads::marks() const {
  Marks made;
  for (const std::string& node : cluster_.nodes()) {
    if (!cluster_.isAlive(node)) continue;
    Mark& mark = made[node];
    mark.log = set_.documents(node).log();
    mark.term = termOf(node) == set_.documents(node).logTerm() ? termOf(node) : 0;
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
void MemberReads::compare(const std::string& node, const Marks& before, bson::View reply) const {
  const auto mark = before.find(node);
  if (mark == before.end() || !cluster_.isAlive(node) || set_.documents(node).log() != mark->second.log) return;
  if (mark->second.term == 0 || termOf(node) != mark->second.term) return;
  std::map<int64_t, int64_t> seen;
  for (const bson::Element& e : reply.at("cursor.firstBatch").asArray())
    seen[e.asDocument()["_id"].toInt64()] = e.asDocument()["n"].toInt64();
  for (const auto& [key, committed] : mark->second.committed) {
    const auto found = seen.find(key);
    const auto& values = mark->second.log->at(key);
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(committed) - 1;
    if (found != seen.end() && std::find(from, values.end(), found->second) != values.end()) continue;
    const std::string shown = found == seen.end() ? "nothing" : std::to_string(found->second);
    return broken_(kInvariant,
                   fmt::format("{} shows {} of document {}, and had committed {}", node, shown, key, *from));
  }
}

}  // namespace troupe::sim
