#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "actors/replication/remote_members.hpp"
#include "actors/replication/source_log.hpp"

namespace troupe::replication::test {

inline OpTime entryAt(uint32_t seconds, int64_t term = 1) { return {term, {seconds, 1}}; }

/// An entry of a log: a note.
inline bson::Document logEntry(const OpTime& at, std::string_view message = "note") {
  return bson::doc("op", "n", "ns", "", "o", bson::doc("msg", message), "ts", at.timestamp, "t", at.term, "v", 2);
}

/// A member whose log a test writes. For one thread.
struct FakeLog {
  std::vector<bson::Document> entries;
  int64_t rollbackId = 0;
  bool isReachable = true;
  bool answers = true;          ///< else commands wait until it does, and are woken
  size_t batchEntries = 100;    ///< of one batch
  std::deque<Status> failures;  ///< of the next reads, in their order
  int opened = 0, batches = 0;  ///< tailing reads, and batches they gave
  std::vector<Promise<troupe::Done>> waiting;
  std::function<void()> beforeOpening;  ///< of a tailing read

  void add(bson::Document entry) {
    entries.push_back(std::move(entry));
    wake();
  }
  /// Everyone who waits looks again: at new entries, or at nothing.
  void wake() {
    for (auto& waiter : std::exchange(waiting, {})) waiter.set(troupe::Done{});
  }
  void addRange(uint32_t from, uint32_t to, int64_t term = 1) {
    for (uint32_t at = from; at <= to; ++at) entries.push_back(logEntry(entryAt(at, term)));
    wake();
  }
};

/// A tailing read of a FakeLog.
class FakeTail final : public RemoteDocuments {
 public:
  FakeTail(FakeLog& log, OpTime from) : log_(log) {
    while (at_ < log_.entries.size() && opTimeOf(log_.entries[at_].view())->timestamp < from.timestamp) ++at_;
  }
  Task<StatusWith<std::vector<bson::View>>> next() override {
    if (!std::exchange(isFirst_, false) && at_ >= log_.entries.size() && log_.failures.empty()) {
      auto news = log_.waiting.emplace_back().future();
      co_await news;
    }
    if (!log_.failures.empty()) {
      const Status failure = log_.failures.front();
      log_.failures.pop_front();
      co_return failure;
    }
    batch_.clear();
    while (at_ < log_.entries.size() && batch_.size() < log_.batchEntries) batch_.push_back(log_.entries[at_++]);
    ++log_.batches;
    co_return std::vector<bson::View>(batch_.begin(), batch_.end());
  }

 private:
  FakeLog& log_;
  size_t at_ = 0;
  bool isFirst_ = true;
  std::vector<bson::Document> batch_;
};

/// A set of members of a test's own.
class FakeMembers final : public RemoteMembers {
 public:
  /// Replies come in a later turn of that node, as over a link.
  explicit FakeMembers(Node& node) : node_(node) {}

  std::map<NodeName, FakeLog> logs;

  Task<StatusWith<bson::Document>> run(NodeName member, std::string, bson::Document command, Duration) override {
    co_await node_.nextTurn();
    FakeLog& log = logs[member];
    while (!log.answers) {
      auto woken = log.waiting.emplace_back().future();
      co_await woken;
    }
    if (!log.isReachable) co_return Status(ErrorCode::kHostUnreachable, member + " is gone");
    co_return replyOf(log, command.view());
  }
  Task<StatusWith<std::unique_ptr<RemoteDocuments>>> read(NodeName member, std::string, bson::Document command,
                                                          size_t) override {
    co_await node_.nextTurn();
    FakeLog& log = logs[member];
    if (!log.isReachable) co_return Status(ErrorCode::kHostUnreachable, member + " is gone");
    if (log.beforeOpening) log.beforeOpening();
    ++log.opened;
    const bson::Element from = command.view().at("filter.ts.$gte");
    const OpTime begin = from.is(bson::Type::kTimestamp) ? OpTime{0, from.asTimestamp()} : OpTime();
    std::unique_ptr<RemoteDocuments> tail = std::make_unique<FakeTail>(log, begin);
    co_return tail;
  }

 private:
  static bson::Document replyOf(const FakeLog& log, bson::View find) {
    std::vector<bson::Document> found;
    const bson::Element time = find.at("filter.ts");
    if (find["find"].toStringOr() == "system.rollback.id") {
      if (log.rollbackId > 0) found.push_back(bson::doc("_id", "rollbackId", "rollbackId", log.rollbackId));
    } else if (time.is(bson::Type::kTimestamp)) {
      for (const auto& entry : log.entries)
        if (entry.view()["ts"].asTimestamp() == time.asTimestamp()) found.push_back(entry);
    } else if (!log.entries.empty()) {
      found.push_back(find.at("sort.$natural").toInt64() < 0 ? log.entries.back() : log.entries.front());
    }
    return bson::doc("cursor", bson::doc("firstBatch", found, "id", int64_t{0}), "ok", 1.0);
  }

  Node& node_;
};

}  // namespace troupe::replication::test
