#include "test/bench/replication/load.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

double cpuOf(const std::vector<int>& pids) {
  double sum = 0;
  for (const int pid : pids) sum += cpuSeconds(pid);
  return sum;
}

/// The operation of one thread with its pace and its latencies, in milliseconds.
class Client {
 public:
  Client(Operation operation, double rate) : operation_(std::move(operation)), rate_(rate) {}

  int64_t once(uint64_t number) {
    if (rate_ > 0) {
      // By the plan, not after the last answer: a stall must not lower the load that it is measured under.
      planned_ = planned_ == Clock::time_point{}
                     ? Clock::now()
                     : planned_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / rate_));
      std::this_thread::sleep_until(planned_);
    }
    const auto begun = rate_ > 0 ? planned_ : Clock::now();
    operation_(number);
    latencies_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
    return 1;
  }
  const std::vector<double>& latencies() const { return latencies_; }

 private:
  Operation operation_;
  double rate_;
  Clock::time_point planned_{};
  std::vector<double> latencies_;
};

}  // namespace

Load runLoad(int threads, double seconds, double rate, const std::vector<int>& pids, const Connect& connect) {
  static std::atomic<uint64_t> next{static_cast<uint64_t>(Clock::now().time_since_epoch().count())};
  std::mutex mutex;
  std::vector<std::shared_ptr<Client>> clients;
  const auto make = [&](int thread) -> Work {
    auto client = std::make_shared<Client>(connect(thread), rate / threads);
    const std::lock_guard lock(mutex);
    clients.push_back(client);
    return [client] { return client->once(next++); };
  };
  const double before = cpuOf(pids);
  const Measured measured = measureWork(threads, seconds, make);
  Load load{measured.perSecond, (cpuOf(pids) - before) * 1e6 / std::max(1.0, measured.perSecond * seconds)};
  std::vector<double> all;
  for (const auto& client : clients) all.insert(all.end(), client->latencies().begin(), client->latencies().end());
  if (all.empty()) return load;
  std::sort(all.begin(), all.end());
  load.medianMs = all[all.size() / 2];
  load.percentile99Ms = all[all.size() * 99 / 100];
  load.highestMs = all.back();
  return load;
}

}  // namespace troupe::bench
