// Fairness between clients: how long a client waits for a document by its _id while two others run queries each of
// which is one evaluation of some seconds, beside what it waits when it is alone. Prints one JSON line per figure.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "messaging/bson/json.hpp"
#include "messaging/wire/client.hpp"
#include "test/bench/support/measure.hpp"
#include "test/bench/support/raw_client.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;
using Clock = std::chrono::steady_clock;

constexpr int kHostile = 2;
constexpr double kAllowedMillis = 100;

std::string command(const char* db, std::string_view json) {
  const auto body = bson::fromJson(json);
  if (!body.isOK()) throw BenchError(body.status().reason());
  return wire::buildRequest(1, db, *body);
}

/// Two million steps over one document, none of which gives way.
const std::string& hostileQuery() {
  static const std::string frame = command("bench", R"({"aggregate": 1, "cursor": {}, "maxTimeMS": 4000, "pipeline": [
      {"$documents": [{}]}, {"$project": {"n": {"$reduce": {"input": {"$range": [0, 2000000]}, "initialValue": 0,
      "in": {"$add": ["$$value", {"$strLenBytes": {"$concat": ["a", {"$toString": "$$this"}, "b"]}}]}}}}}]})");
  return frame;
}

/// Milliseconds of each round trip of an innocent client.
std::vector<double> waits(int port, double seconds) {
  RawClient client(port);
  const std::string find = command("bench", R"({"find": "fairness", "filter": {"_id": 1}, "limit": 1})");
  client.roundTrip(find);
  std::vector<double> result;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    const auto begun = Clock::now();
    client.roundTrip(find);
    result.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
  }
  std::sort(result.begin(), result.end());
  return result;
}

double share(const std::vector<double>& sorted, double of) {
  return sorted.empty()
             ? 0
             : sorted[std::min(sorted.size() - 1, static_cast<size_t>(static_cast<double>(sorted.size()) * of))];
}

void reportShare(const char* name, const std::vector<double>& beside, const std::vector<double>& alone, double of) {
  report({.work = std::string("wait for a find beside two hostile queries, ") + name,
          .against = "the same client alone",
          .unit = "ms",
          .troupe = share(beside, of),
          .reference = share(alone, of),
          .details = {{"roundTrips", static_cast<double>(beside.size())}, {"longest", share(beside, 1)}}});
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv, {{"port", "27017"}, {"seconds", "5"}});
  return run([&] {
    const int port = arguments.number("port");
    const double seconds = arguments.decimal("seconds");
    RawClient(port).roundTrip(command("bench", R"({"insert": "fairness", "documents": [{"_id": 1}]})"));
    const auto alone = waits(port, seconds);
    std::atomic<bool> stop{false};
    std::atomic<int> queries{0};
    std::vector<std::thread> hostile;
    for (int i = 0; i < kHostile; ++i)
      hostile.emplace_back([&] {
        for (RawClient client(port); !stop; ++queries) client.roundTrip(hostileQuery());
      });
    const auto beside = waits(port, seconds);
    stop = true;
    for (auto& thread : hostile) thread.join();
    if (queries == 0) throw BenchError("no hostile query has ended");
    reportShare("median", beside, alone, 0.5);
    reportShare("p99", beside, alone, 0.99);
    report({.work = "wait for a find beside two hostile queries, p99",
            .against = "the allowance",
            .unit = "ms",
            .troupe = share(beside, 0.99),
            .reference = kAllowedMillis,
            .ceiling = 1.0});
  });
}
