#include "test/simulation/document_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::sim {

namespace {

std::string inWords(const OpTime& at) {
  return fmt::format("{}.{} of term {}", at.timestamp.seconds, at.timestamp.increment, at.term);
}

}  // namespace

void DocumentLedger::committed(int64_t id, int64_t value, const OpTime& at) { commits_[value] = {id, at}; }

void DocumentLedger::acknowledged(int64_t value) {
  ++acknowledgedWrites_;
  const auto commit = commits_.find(value);
  if (commit != commits_.end()) acknowledged_[commit->second.id].insert(commit->second.at);
  else if (broken_.empty()) broken_ = fmt::format("write {} was acknowledged, and was never committed", value);
}

DocumentLedger::Times DocumentLedger::newestAcknowledged(const std::function<bool(const OpTime&)>& counts) const {
  Times newest;
  for (const auto& [id, times] : acknowledged_) {
    const auto last = std::find_if(times.rbegin(), times.rend(), counts);
    if (last != times.rend()) newest[id] = *last;
  }
  return newest;
}

DocumentLedger::Times DocumentLedger::newestAcknowledged() const {
  return newestAcknowledged([](const OpTime&) { return true; });
}

std::string DocumentLedger::shown(const std::vector<bson::Document>& found, const Times& least) const {
  std::map<int64_t, OpTime> shownAt;
  for (const bson::Document& document : found) {
    const int64_t id = document["_id"].toInt64(), value = document["n"].toInt64();
    const auto commit = commits_.find(value);
    if (commit == commits_.end() || commit->second.id != id)
      return fmt::format("document {} has the value {}, which was never committed", id, value);
    shownAt[id] = commit->second.at;
  }
  for (const auto& [id, wanted] : least) {
    const auto at = shownAt.find(id);
    if (at == shownAt.end())
      return fmt::format("document {} is not there, and its write at {} was acknowledged", id, inWords(wanted));
    if (at->second < wanted)
      return fmt::format("document {} is of {}, and its write at {} was acknowledged", id, inWords(at->second),
                         inWords(wanted));
  }
  return {};
}

std::string DocumentLedger::left(const std::vector<bson::Document>& found, const Times& least) const {
  return broken_.empty() ? shown(found, least) : broken_;
}

}  // namespace troupe::sim
