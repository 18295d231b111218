// YCSB's core workloads A to F with zipfian keys, on this server through libmongoc and on PostgreSQL through libpq.
// Writes are acknowledged from memory on both sides. Prints one JSON line per workload.
#include <atomic>
#include <cmath>

#include "test/bench/support/measure.hpp"
#include "test/bench/support/store.hpp"

namespace {

using namespace troupe::bench;

/// Numbers 0 ... n-1, small ones often, by the method of Gray et al. ("Quickly generating billion-record synthetic
/// databases"), skew 0.99 as YCSB has it.
class Zipfian {
 public:
  explicit Zipfian(uint64_t n) : n_(static_cast<double>(n)) {
    for (uint64_t i = 1; i <= n; ++i) zeta_ += 1 / std::pow(static_cast<double>(i), kSkew);
    const double zetaOfTwo = 1 + std::pow(0.5, kSkew);
    eta_ = (1 - std::pow(2 / n_, 1 - kSkew)) / (1 - zetaOfTwo / zeta_);
  }
  uint64_t operator()(std::mt19937_64& random) const {
    const double u = std::uniform_real_distribution<double>(0, 1)(random);
    const double scaled = u * zeta_;
    if (scaled < 1) return 0;
    if (scaled < 1 + std::pow(0.5, kSkew)) return 1;
    return std::min(static_cast<uint64_t>(n_ * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kSkew))),
                    static_cast<uint64_t>(n_) - 1);
  }

 private:
  static constexpr double kSkew = 0.99;
  double n_, zeta_ = 0, eta_ = 0;
};

/// Shares of operations in percent; what is left of 100 are reads.
struct Workload {
  char name;
  const char* what;
  int updates = 0, inserts = 0, scans = 0, modifications = 0;
  bool latest = false;  ///< reads prefer what was inserted last
};

constexpr Workload kWorkloads[] = {
    {.name = 'A', .what = "50% read, 50% update", .updates = 50},
    {.name = 'B', .what = "95% read, 5% update", .updates = 5},
    {.name = 'C', .what = "100% read"},
    {.name = 'D', .what = "95% read of the latest, 5% insert", .inserts = 5, .latest = true},
    {.name = 'E', .what = "95% short scan, 5% insert", .inserts = 5, .scans = 95},
    {.name = 'F', .what = "50% read, 50% read-modify-write", .modifications = 50},
};

/// The records of one database: how many there are grows with inserts.
struct Table {
  Database& database;
  std::atomic<uint64_t> records;
};

/// One connection that runs a workload's operations.
class Driver {
 public:
  Driver(const Workload& workload, Table& table, const Zipfian& zipfian, uint64_t seed)
      : workload_(workload),
        table_(table),
        zipfian_(zipfian),
        maker_(seed),
        store_(table.database.connect(Durability::kMemory)) {}

  void operate() {
    int dice = static_cast<int>(maker_.random()() % 100);
    const auto chosen = [&dice](int share) { return (dice -= share) < 0; };
    if (chosen(workload_.updates)) return store_->update(key(), field(), maker_.text());
    if (chosen(workload_.inserts)) return store_->insert(maker_.record(table_.records++));
    if (chosen(workload_.scans)) return store_->scan(key(), 1 + static_cast<int>(maker_.random()() % kLongestScan));
    const std::string wanted = key();
    store_->find(wanted);
    if (chosen(workload_.modifications)) store_->update(wanted, field(), maker_.text());
  }

 private:
  static constexpr uint64_t kLongestScan = 100;
  /// Records whose inserts may still be on their way are not read.
  static constexpr uint64_t kMargin = 256;

  size_t field() { return maker_.random()() % Record::kFields; }
  std::string key() {
    const uint64_t count = table_.records;
    const uint64_t place = zipfian_(maker_.random());
    if (!workload_.latest) return RecordMaker::key(place);
    return RecordMaker::key(count > place + kMargin ? count - kMargin - place - 1 : 0);
  }

  const Workload& workload_;
  Table& table_;
  const Zipfian& zipfian_;
  RecordMaker maker_;
  std::unique_ptr<Store> store_;
};

double round(const Workload& workload, Table& table, const Zipfian& zipfian, int threads, double seconds) {
  const auto make = [&](int thread) -> Work {
    auto driver = std::make_shared<Driver>(workload, table, zipfian, static_cast<uint64_t>(thread));
    return [driver] {
      driver->operate();
      return int64_t{1};
    };
  };
  return measureWork(threads, seconds, make).perSecond;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {{"port", "27017"},
                             {"postgres", "host=/var/run/postgresql dbname=postgres"},
                             {"records", "100000"},
                             {"threads", "16"},
                             {"seconds", "2"},
                             {"rounds", "3"},
                             {"workloads", "ABCDEF"}});
  return run([&] {
    const auto records = static_cast<uint64_t>(arguments.number("records"));
    const auto mongo = openMongo("mongodb://127.0.0.1:" + arguments.text("port") + "/?appname=ycsb");
    const auto postgres = openPostgres(arguments.text("postgres"));
    load(*mongo, records);
    load(*postgres, records);
    Table ours{*mongo, {records}}, theirs{*postgres, {records}};
    const Zipfian zipfian(records);
    for (const Workload& workload : kWorkloads) {
      if (arguments.text("workloads").find(workload.name) == std::string::npos) continue;
      std::vector<double> mine, reference;
      for (int i = 0; i < arguments.number("rounds"); ++i) {
        mine.push_back(round(workload, ours, zipfian, arguments.number("threads"), arguments.decimal("seconds")));
        reference.push_back(
            round(workload, theirs, zipfian, arguments.number("threads"), arguments.decimal("seconds")));
      }
      report({.work = std::string("YCSB ") + workload.name + ": " + workload.what,
              .against = "PostgreSQL",
              .unit = "operations/s",
              .troupe = median(mine),
              .reference = median(reference)});
    }
  });
}
