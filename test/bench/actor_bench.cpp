// An ask between two local actors against CAF's own request between two of its actors, and the memory of an idle actor.
// Prints one JSON line per figure.
#include <jemalloc/jemalloc.h>

#include <caf/all.hpp>
#include <chrono>
#include <future>
#include <vector>

#include "actors/kernel/node.hpp"
#include "messaging/schemas/testing.capnp.h"
#include "test/bench/support/measure.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using namespace troupe;
constexpr int kAsks = 200'000;
constexpr int kRounds = 5;

double perSecond(Clock::time_point from) { return kAsks / std::chrono::duration<double>(Clock::now() - from).count(); }

// --- CAF ---

void requestNext(caf::event_based_actor* self, const caf::actor& echo, int64_t left, std::promise<void>* done) {
  if (left == 0) return done->set_value();
  self->request(echo, caf::infinite, left).then([=](int64_t) { requestNext(self, echo, left - 1, done); });
}

double cafRequests(unsigned threads) {
  caf::actor_system_config config;
  config.set("scheduler.max-threads", static_cast<size_t>(threads));
  config.set("scheduler.max-throughput", size_t{50});
  caf::actor_system system(config);
  auto echo = system.spawn([]() -> caf::behavior { return {[](int64_t n) { return n; }}; });
  std::promise<void> done;
  const auto start = Clock::now();
  auto asker = system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    requestNext(self, echo, kAsks, &done);
    return {[](caf::unit_t) {}};
  });
  done.get_future().wait();
  const double rate = perSecond(start);
  caf::anon_send_exit(echo, caf::exit_reason::kill);
  caf::anon_send_exit(asker, caf::exit_reason::kill);
  return rate;
}

// --- the kernel ---

class Echo : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::Ping>([](schema::Ping::Reader in, Context& context) {
      context.reply<schema::Pong>([&](schema::Pong::Builder out) { out.setNumber(in.getNumber()); });
    })};
  }
};

class Asker : public Actor {
 public:
  Asker(Address echo, Duration timeout, std::promise<void>* done)
      : echo_(std::move(echo)), timeout_(timeout), done_(done) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override { start(run()); }

 private:
  Task<void> run() {
    for (int64_t i = 0; i < kAsks; ++i) {
      auto ping = build<schema::Ping>([&](schema::Ping::Builder p) { p.setNumber(i); });
      Answer answer = co_await ask(echo_, std::move(ping), timeout_);
      if (answer->read<schema::Pong>()->getNumber() != i) std::abort();
    }
    done_->set_value();
  }
  Address echo_;
  Duration timeout_;
  std::promise<void>* done_;
};

double kernelAsks(unsigned threads, Duration timeout) {
  Node node({.name = "bench", .threads = threads});
  const auto echo = node.spawn<Echo>("/echo");
  std::promise<void> done;
  const auto start = Clock::now();
  node.spawn<Asker>("/asker", echo, timeout, &done);
  done.get_future().wait();
  return perSecond(start);
}

// --- memory ---

double allocatedBytes() {
  uint64_t epoch = 1;
  size_t allocated = 0, size = sizeof allocated;
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);  // refreshes the statistics
  mallctl("stats.allocated", &allocated, &size, nullptr, 0);
  return static_cast<double>(allocated);
}

double bytesPerIdleActor() {
  constexpr int kActors = 50'000;
  Node node({.name = "bench", .threads = 1});
  const double before = allocatedBytes();
  for (int i = 0; i < kActors; ++i) node.spawn<Echo>("/services/idle" + std::to_string(i));
  std::promise<void> settled;
  node.post([&] { settled.set_value(); });
  settled.get_future().wait();
  return (allocatedBytes() - before) / kActors;
}

}  // namespace

int main() {
  for (unsigned threads : {1U, 2U}) {
    std::vector<double> caf, asks, asksWithDeadline;
    for (int round = 0; round < kRounds; ++round) {  // interleaved: noise hits both
      caf.push_back(cafRequests(threads));
      asks.push_back(kernelAsks(threads, kNoTimeout));
      asksWithDeadline.push_back(kernelAsks(threads, std::chrono::seconds(10)));
    }
    bench::report({.work = "ask between local actors, threads: " + std::to_string(threads),
                   .against = "raw CAF request",
                   .unit = "asks/s",
                   .troupe = bench::median(asks),
                   .reference = bench::median(caf),
                   .floor = 0.8,
                   .details = {{"asksWithDeadline", bench::median(asksWithDeadline)}}});
  }
  bench::report({.work = "memory of an idle actor",
                 .against = "the allowance",
                 .unit = "bytes",
                 .troupe = bytesPerIdleActor(),
                 .reference = 1536,
                 .ceiling = 1.0});
}
