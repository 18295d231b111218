#pragma once
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/replication/oplog_fetcher.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"
#include "test/unit/actors/replication/fake_members.hpp"

namespace troupe::replication::test {

using FetchPhase = Fetching::Phase;

/// A member that has applied up to second 5 of a log; "p" leads, "s" is a nearer secondary. Both have seconds 1 to 10.
class OplogFetcherTest : public KernelTest {
 protected:
  OplogFetcherTest() {
    for (const char* host : {"p", "s"}) {
      SourceCandidate candidate;
      candidate.host = host;
      candidate.state = MemberState::kSecondary;
      candidate.applied = entryAt(10);
      candidate.ping = std::chrono::milliseconds(known.members.empty() ? 50 : 5);
      known.members.push_back(candidate);
      members.logs[host].addRange(1, 10);
    }
    known.members[0].state = MemberState::kPrimary;
    known.primary = "p";
  }

  FetcherParts parts() {
    FetcherParts parts;
    parts.state = state;
    parts.members = &members;
    parts.buffer = &buffer;
    parts.candidates = [this] { return known; };
    parts.applied = [this] { return applied; };
    parts.endCatchUp = [this](int64_t term) { endedCatchUps.push_back(term); };
    parts.drained = [this] { return noting("drained"); };
    parts.opened = [this] { notes.push_back("opened"); };
    parts.rollBack = [this](const NodeName& source) {
      applied = rolledBackTo;
      return noting("rolled back by " + source);
    };
    parts.initialSync = [this] {
      applied = copiedUpTo;
      return noting("copied");
    };
    parts.setMaintenance = [this](bool on) { return noting(on ? "maintenance" : "no maintenance"); };
    parts.log = [this](const FetcherLine& line, const bson::Document& attributes) {
      if (const auto error = attributes["error"]; error.ok()) errors[line.id] = error.toStringOr();
      if (const auto pause = attributes["seconds"]; pause.ok()) seconds[line.id] = pause.toInt64();
      lines.emplace_back(line.message);
      written.emplace(line.id, line.severity);
    };
    parts.figures = &figures;
    parts.observe = [this](const Snapshot<Fetching>& now, const auto&) { seen = now; };
    return parts;
  }
  Task<Status> noting(std::string what, Status outcome = Status::OK()) {
    notes.push_back(std::move(what));
    co_return outcome;
  }
  /// This member has been elected, to catch up to second 12, which s alone has.
  void beElected() {
    known.name = known.primary = "me";
    known.members[0].state = MemberState::kSecondary;
    known.members[0].applied = applied;
    known.members[1].applied = entryAt(12);
  }
  /// This member's newest entry is in nobody's log.
  void haveAnotherHistory() {
    for (const char* host : {"p", "s"}) {
      auto& log = members.logs[host];
      log.entries.clear();
      log.addRange(1, 4);
      log.addRange(6, 10, 2);
    }
    for (auto& member : known.members) member.applied = entryAt(10, 2);
    rolledBackTo = entryAt(4);
  }
  static Task<Status> untilSet(Promise<Status>& promise) {
    auto set = promise.future();
    co_return co_await set;
  }
  void spawn() { node.spawn<OplogFetcher>(kFetcherPath, parts()); }
  void follow() {
    spawn();
    EXPECT_TRUE(tell(Follow{}).isOK());
    node.run();
  }
  template <class Command>
  Answer tell(Command command) {
    return ask(node.address(kFetcherPath), local(std::move(command)), 1s);
  }
  /// Asks, and does not wait for the answer.
  std::shared_ptr<bool> begin(StopFetching command) {
    auto answered = std::make_shared<bool>(false);
    node.start(note(node.ask(node.address(kFetcherPath), local(command)), answered));
    node.run();
    return answered;
  }
  static Task<void> note(Future<Answer> answer, std::shared_ptr<bool> answered) {
    const Answer came = co_await answer;
    *answered = came.isOK();
  }
  /// Takes everything out of the buffer: the seconds of the entries.
  std::vector<uint32_t> taken(size_t most = 1000) {
    std::vector<uint32_t> seconds;
    for (const FetchedEntry& entry : buffer.take(most, 1 << 30)) seconds.push_back(entry.opTime.timestamp.seconds);
    node.run();
    return seconds;
  }
  static std::vector<uint32_t> range(uint32_t from, uint32_t to) {
    std::vector<uint32_t> all;
    for (; from <= to; ++from) all.push_back(from);
    return all;
  }
  FetchPhase phase() const { return seen.memory.phase; }
  bool hasNote(const std::string& what) const { return std::find(notes.begin(), notes.end(), what) != notes.end(); }

  FakeMembers members{node};
  OplogBuffer buffer{1 << 20};
  FetchFigures figures;
  std::shared_ptr<FetcherState> state = std::make_shared<FetcherState>("me");
  Candidates known;
  OpTime applied = entryAt(5), rolledBackTo;
  OpTime copiedUpTo;  ///< by an initial sync
  std::vector<std::string> notes, lines;
  std::vector<int64_t> endedCatchUps;               ///< their terms
  std::set<std::pair<int, log::Severity>> written;  ///< ids and severities of these lines
  std::map<int, std::string> errors;                ///< of lines that name one, the newest by id
  std::map<int, int64_t> seconds;                   ///< likewise, of lines that have some
  Snapshot<Fetching> seen;
};

}  // namespace troupe::replication::test
