// The server over the wire against PostgreSQL with the same records, and against a bare Asio server of the same bytes.
// Both sides are asked through a client as thin as libpq; lines that say so show what libmongoc adds.
// Rounds alternate between the two, so that noise of the machine hits both. Prints one JSON line per figure.
#include <algorithm>
#include <atomic>
#include <thread>

#include "messaging/bson/document.hpp"
#include "messaging/wire/client.hpp"
#include "test/bench/support/measure.hpp"
#include "test/bench/support/raw_client.hpp"
#include "test/bench/support/store.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

struct Setting {
  int connections;
  int rounds;
  double seconds;
  uint64_t records;
  int mongoPid, postgresPid;
};

/// One side of a comparison: a round's rate, and whose CPU time it costs.
struct Side {
  int pid;
  std::function<double()> round;
  std::vector<double> rates = {}, micros = {};

  void run(double seconds) {
    const double before = cpuSeconds(pid);
    rates.push_back(round());
    micros.push_back((cpuSeconds(pid) - before) * 1e6 / (rates.back() * seconds));
  }
};

/// Takes turns and reports the medians.
void compare(const Setting& setting, Result result, Side ours, Side theirs) {
  for (int i = 0; i < setting.rounds; ++i) {
    ours.run(setting.seconds);
    theirs.run(setting.seconds);
  }
  result.troupe = median(ours.rates);
  result.reference = median(theirs.rates);
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.rates.size(); ++i) ratios.push_back(ours.rates[i] / theirs.rates[i]);
  result.details["ratioLowest"] = *std::min_element(ratios.begin(), ratios.end());
  result.details["ratioHighest"] = *std::max_element(ratios.begin(), ratios.end());
  if (ours.pid > 0) result.details["serverMicros"] = median(ours.micros);
  if (theirs.pid > 0) result.details["referenceMicros"] = median(theirs.micros);
  report(result);
}

double findRound(Database& database, const Setting& setting) {
  return unitsPerSecond(setting.connections, setting.seconds, [&](int thread) -> Work {
    std::shared_ptr<Store> store = database.connect(Durability::kMemory);
    auto random = std::make_shared<std::mt19937_64>(thread);
    store->find(RecordMaker::key(0));
    return [=, &setting] {
      store->find(RecordMaker::key((*random)() % setting.records));
      return int64_t{1};
    };
  });
}

double insertRound(Database& database, const Setting& setting, Durability durability, int batch) {
  static std::atomic<uint64_t> next{uint64_t{1} << 32};  // above all that was loaded
  return unitsPerSecond(setting.connections, setting.seconds, [&, durability, batch](int thread) -> Work {
    std::shared_ptr<Store> store = database.connect(durability);
    auto maker = std::make_shared<RecordMaker>(thread);
    store->insert(maker->record(next++));
    if (batch == 1)
      return [=] {
        store->insert(maker->record(next++));
        return int64_t{1};
      };
    std::vector<Record> records;
    return [=]() mutable {
      records.clear();
      for (int i = 0; i < batch; ++i) records.push_back(maker->record(next++));
      store->insertMany(records);
      return int64_t{batch};
    };
  });
}

std::string findFrame(const std::string& key) {
  const auto command =
      bson::doc("find", "docs", "filter", bson::doc("_id", key), "limit", int64_t{1}, "singleBatch", true);
  return wire::buildRequest(1, "bench", command);
}

double rawRound(int port, const Setting& setting) {
  return unitsPerSecond(setting.connections, setting.seconds, [&, port](int thread) -> Work {
    auto client = std::make_shared<RawClient>(port);
    auto frames = std::make_shared<std::vector<std::string>>();
    std::mt19937_64 random(thread);
    for (int i = 0; i < 1000; ++i) frames->push_back(findFrame(RecordMaker::key(random() % setting.records)));
    client->roundTrip(frames->front());
    return [client, frames, i = size_t{0}]() mutable {
      client->roundTrip((*frames)[++i % frames->size()]);
      return int64_t{1};
    };
  });
}

void compareFinds(const Setting& setting, Database& wire, Database& mongo, Database& postgres) {
  const auto both = [&](Result result, Database& ours) {
    compare(setting, std::move(result), {setting.mongoPid, [&] { return findRound(ours, setting); }},
            {setting.postgresPid, [&] { return findRound(postgres, setting); }});
  };
  both({.work = "point find by _id", .against = "PostgreSQL prepared select", .unit = "finds/s", .floor = 1.0}, wire);
  both({.work = "point find by _id, through libmongoc", .against = "PostgreSQL prepared select", .unit = "finds/s"},
       mongo);
}

void compareInserts(const Setting& setting, Database& wire, Database& postgres) {
  const auto both = [&](Result result, Durability durability, int batch) {
    compare(
        setting, std::move(result),
        {setting.mongoPid, [&, durability, batch] { return insertRound(wire, setting, durability, batch); }},
        {setting.postgresPid, [&, durability, batch] { return insertRound(postgres, setting, durability, batch); }});
  };
  both({.work = "insert, w:1 j:false",
        .against = "PostgreSQL, synchronous_commit off",
        .unit = "inserts/s",
        .floor = 1.0},
       Durability::kMemory, 1);
  both(
      {.work = "insert, w:1 j:true", .against = "PostgreSQL, synchronous_commit on", .unit = "inserts/s", .floor = 1.0},
      Durability::kDisk, 1);
  both({.work = "insertMany of 1000", .against = "PostgreSQL, 1000-row insert", .unit = "documents/s", .floor = 1.0},
       Durability::kMemory, 1000);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {{"port", "27017"},
                             {"postgres", "host=/var/run/postgresql dbname=postgres"},
                             {"pid", "0"},
                             {"postgres-pid", "0"},
                             {"connections", "16"},
                             {"rounds", "5"},
                             {"seconds", "2"},
                             {"records", "50000"},
                             {"only", ""}});
  return run([&] {
    const Setting setting{arguments.number("connections"), arguments.number("rounds"),
                          arguments.decimal("seconds"),    static_cast<uint64_t>(arguments.number("records")),
                          arguments.number("pid"),         arguments.number("postgres-pid")};
    const int port = arguments.number("port");
    const std::string only = arguments.text("only");  // find, echo or insert; empty: everything
    const auto mongo = openMongo("mongodb://127.0.0.1:" + std::to_string(port) + "/?appname=bench");
    const auto wire = openWire(port);
    load(*mongo, setting.records);
    if (only.empty() || only == "echo") {
      const std::string reply(RawClient(port).roundTrip(findFrame(RecordMaker::key(0))));
      const EchoServer echo(reply, std::thread::hardware_concurrency());
      compare(setting,
              {.work = "point find by _id, bytes on a socket",
               .against = "bare Asio server of the same bytes",
               .unit = "finds/s",
               .floor = 0.5},
              {setting.mongoPid, [&] { return rawRound(port, setting); }},
              {echo.pid(), [&] { return rawRound(echo.port(), setting); }});
    }
    if (only == "echo") return;
    const auto postgres = openPostgres(arguments.text("postgres"));
    load(*postgres, setting.records);
    if (only != "insert") compareFinds(setting, *wire, *mongo, *postgres);
    if (only != "find") compareInserts(setting, *wire, *postgres);
  });
}
