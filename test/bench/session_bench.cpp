// Cost of checking a session out and in again that nobody else wants, as each numbered command does. Beside it what any
// such table costs: a mutex and a look into a hash table, once for each way. In processor time of the thread. Prints
// one JSON line per figure.
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/server/session_catalog.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/engine/deterministic_engine.hpp"
#include "test/bench/support/measure.hpp"

namespace {

using namespace troupe;
using server::SessionCatalog;
using storage::SessionId;

constexpr int kOperations = 300'000;
constexpr int kRounds = 7;
constexpr size_t kSessions = 1'000;
constexpr double kMost = 3;  ///< times the table

std::vector<SessionId> makeSessions() {
  std::vector<SessionId> sessions(kSessions);
  for (size_t i = 0; i < kSessions; ++i) {
    const std::string digits = std::to_string(i * 7'919);
    std::copy(digits.begin(), digits.end(), sessions[i].id.begin());
    sessions[i].uid.fill('u');
  }
  return sessions;
}

/// Nobody waits, so all of it runs on the thread that starts it.
Task<void> checkOutAndIn(SessionCatalog* catalog, Node* node, storage::OperationContext* operation,
                         const std::vector<SessionId>* sessions, double* nanos) {
  const double from = bench::threadNanos();
  for (int i = 0; i < kOperations; ++i) {
    const auto session = co_await catalog->checkOut(*node, *operation, (*sessions)[static_cast<size_t>(i) % kSessions]);
    if (!session.isOK()) throw bench::BenchError(session.status().toString());
  }
  *nanos = (bench::threadNanos() - from) / kOperations;
}

struct Row {
  int64_t user = 0;
};

double tableNanos(const std::vector<SessionId>& sessions) {
  std::mutex mutex;
  std::unordered_map<std::string, Row> table;
  for (const SessionId& session : sessions) table.emplace(session.familyKey(), Row{});
  std::vector<std::string> keys;
  for (const SessionId& session : sessions) keys.push_back(session.familyKey());
  const double from = bench::threadNanos();
  for (int i = 0; i < kOperations; ++i) {
    const std::string& key = keys[static_cast<size_t>(i) % kSessions];
    for (int way = 0; way < 2; ++way) {
      const std::lock_guard lock(mutex);
      ++table.find(key)->second.user;
    }
  }
  return (bench::threadNanos() - from) / kOperations;
}

}  // namespace

int main() {
  return bench::run([] {
    auto engine = storage::DeterministicEngine::open({});
    storage::SessionPool pool(*engine);
    auto catalog = storage::openCatalog(*engine, pool);
    if (!catalog.isOK()) throw bench::BenchError(catalog.status().toString());
    SessionCatalog sessions;
    sessions.attach(storage::SessionTables(**catalog));
    Node node(NodeOptions{.name = "bench", .threads = 1});
    storage::OperationContext operation({.sessions = pool});
    const auto ids = makeSessions();
    std::vector<double> ours, tables;
    for (int round = 0; round < kRounds; ++round) {
      double nanos = 0;
      node.wait(checkOutAndIn(&sessions, &node, &operation, &ids, &nanos));
      ours.push_back(nanos);
      tables.push_back(tableNanos(ids));
    }
    node.shutdown();
    bench::report({.work = "A session checked out and in again",
                   .against = "a mutex and a look into a hash table, twice",
                   .unit = "ns of processor time",
                   .troupe = bench::median(ours),
                   .reference = bench::median(tables),
                   .ceiling = kMost});
  });
}
