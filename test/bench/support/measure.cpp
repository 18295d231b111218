#include "test/bench/support/measure.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

namespace troupe::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// The fields of /proc/PID/stat from the third on; empty when there is no such process.
std::vector<std::string> statFields(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  std::istringstream rest(line.substr(line.rfind(')') + 2));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

constexpr size_t kParent = 1;
constexpr size_t kUserTime = 11;  // followed by system time, and both of the children that have ended

double ticks(const std::vector<std::string>& fields) {
  double sum = 0;
  for (size_t i = kUserTime; i < kUserTime + 4 && i < fields.size(); ++i) sum += std::stod(fields[i]);
  return sum;
}

}  // namespace

Measured measureWork(int threads, double seconds, const WorkFactory& make, int pid) {
  std::atomic<bool> stop{false};
  std::atomic<int64_t> done{0};
  std::exception_ptr failure;
  std::mutex failureMutex;
  std::barrier ready(threads + 1), finished(threads + 1);
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      Work work;
      int64_t count = 0;
      const auto guarded = [&](auto&& action) {
        try {
          action();
        } catch (...) {
          const std::lock_guard lock(failureMutex);
          failure = std::current_exception();
        }
      };
      guarded([&] { work = make(i); });
      ready.arrive_and_wait();
      guarded([&] {
        while (work && !stop.load(std::memory_order_relaxed)) count += work();
      });
      done += count;
      finished.arrive_and_wait();  // before the connection is closed, which ends a process of PostgreSQL
    });
  }
  ready.arrive_and_wait();
  const auto start = Clock::now();
  const double cpuBefore = cpuSeconds(pid);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  finished.arrive_and_wait();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  const double cpuUsed = cpuSeconds(pid) - cpuBefore;
  for (auto& thread : running) thread.join();
  if (failure) std::rethrow_exception(failure);
  const auto units = static_cast<double>(done);
  return {units / elapsed, units > 0 ? cpuUsed * 1e6 / units : 0};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double threadNanos() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double cpuSeconds(int pid) {
  if (pid <= 0) return 0;
  const std::string parent = std::to_string(pid);
  double sum = ticks(statFields(parent));
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto fields = statFields(name);
    if (fields.size() > kParent && fields[kParent] == parent) sum += ticks(fields);
  }
  return sum / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int64_t residentBytes(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void report(const Result& r) {
  std::string details;
  for (const auto& [name, value] : r.details) {
    char text[128];
    std::snprintf(text, sizeof text, "%s\"%s\":%.3f", details.empty() ? "" : ",", name.c_str(), value);
    details += text;
  }
  std::printf(
      "{\"work\":\"%s\",\"unit\":\"%s\",\"troupe\":%.2f,\"against\":\"%s\",\"reference\":%.2f,\"ratio\":%.3f,\"floor\":"
      "%.2f,\"ceiling\":%.2f,\"details\":{%s}}\n",
      r.work.c_str(), r.unit.c_str(), r.troupe, r.against.c_str(), r.reference, r.ratio(), r.floor, r.ceiling,
      details.c_str());
  std::fflush(stdout);
}

Arguments::Arguments(int argc, char** argv, std::map<std::string, std::string> defaults)
    : values_(std::move(defaults)) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto known = name.starts_with("--") ? values_.find(name.substr(2)) : values_.end();
    if (known == values_.end() || i + 1 == argc) {
      std::fprintf(stderr, "%s: unknown option, or no value: %s\nOptions:", argv[0], name.c_str());
      for (const auto& [option, value] : values_) std::fprintf(stderr, " --%s %s", option.c_str(), value.c_str());
      std::fprintf(stderr, "\n");
      std::exit(2);
    }
    known->second = argv[++i];
  }
}

int run(const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "benchmark: %s\n", failure.what());
    return 1;
  }
}

}  // namespace troupe::bench
