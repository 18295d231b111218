// State machines inside the server: durable transitions of many instances against raw WiredTiger commits with a shared
// flusher, and how long a service with many documents needs after a step-up. Prints one JSON line per figure.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/collection_store.hpp"
#include "actors/machines/primary_only_service.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "storage/engine/wiredtiger_engine.hpp"
#include "test/bench/support/directory.hpp"
#include "test/bench/support/measure.hpp"
#include "test/bench/support/raw_wiredtiger.hpp"

namespace troupe::machines::bench {

struct Tick {};
struct Again {};

/// Counts in its document, as fast as the document is safe.
struct Counter : Machine<Counter> {
  static constexpr const char* kName = "counter";
  enum class Phase { kCounting };
  static constexpr auto kPhases = phases<Phase>({{Phase::kCounting, "counting", "each number is journaled"}});
  struct Document {
    int64_t id = 0;
    int64_t count = 0;
    std::string note;
    Phase phase = Phase::kCounting;
  };
  using Event = std::variant<Tick>;
  using Action = std::variant<Again>;
  static const Transitions<Counter>& transitions() {
    static const Transitions<Counter> table{row<Tick>(Phase::kCounting, {}, [](const Document& d, const Tick&) {
      Document next = d;
      ++next.count;
      return stay(Durability::kJournaled).with(std::move(next)).then(perform(Again{}));
    })};
    return table;
  }
  static Step<Counter> resume(const Document&) { return stay().then(perform(Again{})); }
  static std::vector<Invariant> invariants() { return {}; }
};

}  // namespace troupe::machines::bench

TROUPE_DESCRIBE(troupe::machines::bench::Tick, 0)
TROUPE_DESCRIBE(troupe::machines::bench::Again, 0)
TROUPE_MACHINE(troupe::machines::bench::Counter, 1, id, count, note, phase)

namespace {

using namespace troupe;
using namespace troupe::bench;
using machines::bench::Counter;
using Clock = std::chrono::steady_clock;

void require(const Status& status) {
  if (!status.isOK()) throw BenchError(status.toString());
}
double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr int64_t kCacheBytes = int64_t{1} << 30;

Counter::Document document(int64_t id) { return {.id = id, .count = 0, .note = std::string(100, 'x')}; }

/// The storage of a node, its flusher, and one service of counters that is not primary yet.
class Troupe {
 public:
  explicit Troupe(const std::string& path) {
    storage::WiredTigerOptions options;
    options.path = path;
    options.cacheBytes = kCacheBytes;
    auto engine = storage::openWiredTiger(options);
    require(engine.status());
    engine_ = std::move(*engine);
    pool_ = std::make_unique<storage::SessionPool>(*engine_);
    auto catalog = storage::openCatalog(*engine_, *pool_);
    require(catalog.status());
    catalog_ = std::move(*catalog);
    flusher_ = node_.spawn("/flusher",
                           std::make_unique<maintenance::JournalFlusher>(
                               engine_.get(), &durability_, storage::FlushKind::kLog, &std::as_const(interval_)),
                           SpawnOptions{.detached = true});
    store_ = std::make_shared<machines::CollectionStore>(
        machines::StorageAccess{.node = node_,
                                .catalog = *catalog_,
                                .operations = {.sessions = *pool_, .locks = &locks_},
                                .durability = durability_,
                                .wakeFlusher = [this] { node_.tell(flusher_, local(maintenance::FlushNow{})); }},
        *storage::Namespace::parse("config.counters"));
    machines::HostOptions<Counter> host;
    host.perform = [this](Actor&, std::variant<machines::bench::Again>, machines::Doing<Counter::Event>) {
      return again();
    };
    service_ = node_.spawn<machines::PrimaryOnlyService<Counter>>(
        "/counters", store_, host, machines::ServiceLimits{.isPrimary = [] { return false; }});
  }
  ~Troupe() { node_.shutdown(); }

  void fill(int64_t count) { node_.wait(putAll(store_, count)); }
  /// Seconds from the step-up until every instance is there.
  double stepUp() {
    const auto start = Clock::now();
    require(node_.wait(asked(machines::BecomePrimary{1})));
    return secondsSince(start);
  }
  /// Seconds from the step-down until every instance has ended.
  double stepDown() {
    const auto start = Clock::now();
    require(node_.wait(asked(machines::StepDown{})));
    return secondsSince(start);
  }
  void run(bool on) { running_ = on; }
  int64_t transitions() const { return transitions_; }
  Node& node() { return node_; }
  const Address& service() const { return service_; }

 private:
  /// Brings the next tick, or leaves the counters at rest.
  Task<StatusWith<std::optional<Counter::Event>>> again() {
    transitions_.fetch_add(1, std::memory_order_relaxed);
    if (!running_) co_return std::optional<Counter::Event>();
    co_return std::optional<Counter::Event>(machines::bench::Tick{});
  }
  template <class T>
  Task<Status> asked(T wanted) {
    const Answer answer = co_await node_.ask(service_, local(std::move(wanted)));
    co_return answer.status();
  }
  static Task<void> putAll(std::shared_ptr<machines::DocumentStore> store, int64_t count) {
    for (int64_t id = 0; id < count; ++id) {
      auto durability = id + 1 == count ? machines::Durability::kJournaled : machines::Durability::kLocal;
      require(co_await store->put(machines::toBson(document(id)), durability));
    }
  }

  std::unique_ptr<storage::Engine> engine_;
  std::unique_ptr<storage::SessionPool> pool_;
  std::unique_ptr<storage::Catalog> catalog_;
  storage::LockManager locks_{[] { return std::chrono::steady_clock::now(); }};
  storage::DurabilityTracker durability_;
  std::atomic<int64_t> interval_{100};
  std::atomic<bool> running_{false};
  std::atomic<int64_t> transitions_{0};
  Node node_{{.name = "bench"}};
  Address flusher_, service_;
  std::shared_ptr<machines::CollectionStore> store_;
};

/// The same by hand: two threads commit the next number of each of their rows, then wait for the flusher.
class Raw {
 public:
  Raw(const std::string& path, int64_t rows) : rows_(rows) {
    connection_ = openRaw(path, kCacheBytes);
    WT_SESSION* session = openRawSession(connection_);
    requireRaw(session->create(session, "table:counters", kRawTable));
    session->close(session, nullptr);
  }
  ~Raw() { connection_->close(connection_, nullptr); }

  /// Durable commits per second.
  double measure(double seconds) {
    std::atomic<int64_t> done{0};
    std::atomic<bool> over{false}, written{false};
    const auto start = Clock::now();
    std::vector<std::future<void>> writers;
    for (int t = 0; t < 2; ++t) writers.push_back(std::async(std::launch::async, [&, t] { write(t, over, done); }));
    std::thread flusher([&] { flush(written); });
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    over = true;
    for (auto& writer : writers) writer.get();
    written = true;  // not before: a writer may still be about to wait for a flush
    flusher.join();
    return static_cast<double>(done) / secondsSince(start);
  }

 private:
  void write(int thread, const std::atomic<bool>& over, std::atomic<int64_t>& done) {
    WT_SESSION* session = openRawSession(connection_);
    WT_CURSOR* cursor = nullptr;
    requireRaw(session->open_cursor(session, "table:counters", nullptr, nullptr, &cursor));
    for (int64_t count = 0; !over; ++count) {
      for (int64_t row = thread; row < rows_; row += 2) put(session, cursor, row, count);
      waitForFlush();
      done += rows_ / 2;
    }
    session->close(session, nullptr);
  }
  static void put(WT_SESSION* session, WT_CURSOR* cursor, int64_t row, int64_t count) {
    Counter::Document next = document(row);
    next.count = count;
    const bson::Document document = machines::toBson(next);
    const storage::RecordKey key(storage::RecordId{row + 1});
    requireRaw(session->begin_transaction(session, nullptr));
    WT_ITEM item = rawItem(key);
    cursor->set_key(cursor, &item);
    item = rawItem(document.view().bytes());
    cursor->set_value(cursor, &item);
    requireRaw(cursor->insert(cursor));
    requireRaw(session->commit_transaction(session, nullptr));
  }
  /// Until a flush that began after now has ended.
  void waitForFlush() {
    std::unique_lock lock(mutex_);
    const int64_t wanted = begun_ + 1;
    ++waiters_;
    wake_.notify_all();
    flushed_.wait(lock, [&] { return ended_ >= wanted; });
    --waiters_;
  }
  void flush(const std::atomic<bool>& written) {
    WT_SESSION* session = openRawSession(connection_);
    std::unique_lock lock(mutex_);
    while (!written) {
      wake_.wait_for(lock, std::chrono::milliseconds(1), [&] { return waiters_ > 0; });
      const int64_t flush = ++begun_;
      lock.unlock();
      requireRaw(session->log_flush(session, "sync=on"));
      lock.lock();
      ended_ = flush;
      flushed_.notify_all();
    }
    lock.unlock();
    session->close(session, nullptr);
  }

  const int64_t rows_;
  WT_CONNECTION* connection_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_, flushed_;
  int64_t begun_ = 0, ended_ = 0, waiters_ = 0;
};

/// Asks the service again and again, on the pool, and notes the longest wait for an answer in milliseconds.
Task<void> probe(Node& node, Address service, const std::atomic<bool>& over, double& longest) {
  while (!over) {
    const auto start = Clock::now();
    co_await node.ask(service, local(Inspect{}));
    longest = std::max(longest, secondsSince(start) * 1000);
  }
}

/// The longest time for which the service did not answer, in milliseconds, while `work` ran.
double longestSilence(Troupe& ours, const std::function<void()>& work) {
  std::atomic<bool> over{false};
  double longest = 0;
  std::thread asker([&] { ours.node().wait(probe(ours.node(), ours.service(), over, longest)); });
  work();
  over = true;
  asker.join();
  return longest;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(
      argc, argv,
      {{"directory", "/var/tmp"}, {"instances", "1000"}, {"documents", "10000"}, {"seconds", "2"}, {"rounds", "3"}});
  return run([&] {
    const Directory directory(arguments.text("directory"), {"few", "many", "raw"});
    const double seconds = arguments.decimal("seconds");
    std::vector<double> mine, reference, ups, downs, upSilences, downSilences;
    {
      Troupe ours(directory.path() + "/few");
      Raw raw(directory.path() + "/raw", arguments.number("instances"));
      ours.fill(arguments.number("instances"));
      for (int i = 0; i < arguments.number("rounds"); ++i) {
        ours.run(true);
        ours.stepUp();
        const auto start = Clock::now();
        const int64_t before = ours.transitions();
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        mine.push_back(static_cast<double>(ours.transitions() - before) / secondsSince(start));
        ours.run(false);
        ours.stepDown();
        reference.push_back(raw.measure(seconds));
      }
    }
    report({.work = "durable transitions, 1000 instances",
            .against = "raw WiredTiger, shared flusher",
            .unit = "transitions/s",
            .troupe = median(mine),
            .reference = median(reference),
            .floor = 0.6});

    Troupe many(directory.path() + "/many");
    many.fill(arguments.number("documents"));
    for (int i = 0; i < arguments.number("rounds"); ++i) {
      upSilences.push_back(longestSilence(many, [&] { ups.push_back(many.stepUp()); }));
      downSilences.push_back(longestSilence(many, [&] { downs.push_back(many.stepDown()); }));
    }
    const auto allowed = [](const char* work, const char* unit, const std::vector<double>& seen, double most) {
      report({.work = work,
              .against = "the allowance",
              .unit = unit,
              .troupe = median(seen),
              .reference = most,
              .ceiling = 1.0});
    };
    allowed("step-up with 10,000 documents", "s", ups, 2.0);
    allowed("longest silence of the service meanwhile", "ms", upSilences, 20.0);
    allowed("step-down with 10,000 documents", "s", downs, 2.0);
    allowed("longest silence of the service then", "ms", downSilences, 20.0);
  });
}
