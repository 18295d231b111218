// The server over the wire against PostgreSQL and Redis with the same records, and against a bare Asio server of the
// same bytes: rates, and processor time of the servers for each operation, which the load beside them does not hide.
// Ours is asked through a client as thin as libpq and hiredis; lines that say so show what libmongoc adds. Prints one
// JSON line per figure.
#include <atomic>
#include <thread>

#include "messaging/bson/document.hpp"
#include "messaging/wire/client.hpp"
#include "test/bench/support/comparison.hpp"
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
};

/// A running server, and the process whose processor time its work costs.
struct Server {
  Database& database;
  int pid;
};

Measured findRound(const Server& server, const Setting& setting) {
  const auto make = [&](int thread) -> Work {
    std::shared_ptr<Store> store = server.database.connect(Durability::kMemory);
    auto random = std::make_shared<std::mt19937_64>(thread);
    store->find(RecordMaker::key(0));
    return [=, &setting] {
      store->find(RecordMaker::key((*random)() % setting.records));
      return int64_t{1};
    };
  };
  return measureWork(setting.connections, setting.seconds, make, server.pid);
}

Measured insertRound(const Server& server, const Setting& setting, Durability durability, int batch) {
  static std::atomic<uint64_t> next{uint64_t{1} << 32};  // above all that was loaded
  const auto make = [&, durability, batch](int thread) -> Work {
    std::shared_ptr<Store> store = server.database.connect(durability);
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
  };
  return measureWork(setting.connections, setting.seconds, make, server.pid);
}

std::string findFrame(const std::string& key) {
  const auto command =
      bson::doc("find", "docs", "filter", bson::doc("_id", key), "limit", int64_t{1}, "singleBatch", true);
  return wire::buildRequest(1, "bench", command);
}

Measured rawRound(int port, int pid, const Setting& setting) {
  const auto make = [&, port](int thread) -> Work {
    auto client = std::make_shared<RawClient>(port);
    auto frames = std::make_shared<std::vector<std::string>>();
    std::mt19937_64 random(thread);
    for (int i = 0; i < 1000; ++i) frames->push_back(findFrame(RecordMaker::key(random() % setting.records)));
    client->roundTrip(frames->front());
    return [client, frames, i = size_t{0}]() mutable {
      client->roundTrip((*frames)[++i % frames->size()]);
      return int64_t{1};
    };
  };
  return measureWork(setting.connections, setting.seconds, make, pid);
}

void compareEcho(const Setting& setting, int port, int pid) {
  const std::string reply(RawClient(port).roundTrip(findFrame(RecordMaker::key(0))));
  const EchoServer echo(reply, std::thread::hardware_concurrency());
  compare("point find by _id, bytes on a socket", "finds", setting.rounds,
          {.name = "Troupe", .round = [&] { return rawRound(port, pid, setting); }},
          {{.name = "bare Asio server of the same bytes",
            .round = [&] { return rawRound(echo.port(), echo.pid(), setting); },
            .floor = 0.5}});
}

void compareFinds(const Setting& setting, const Server& ours, const Server& mongo, const Server& postgres,
                  const Server& redis) {
  const auto side = [&](const char* name, const Server& server) {
    return Side{.name = name, .round = [&] { return findRound(server, setting); }};
  };
  Side sql = side("PostgreSQL prepared select", postgres);
  compare("point find by _id, through libmongoc", "finds", setting.rounds, side("Troupe", mongo), {sql});
  sql.floor = 1.0;
  sql.ceiling = 0.55;
  Side get = side("Redis GET", redis);
  get.ceiling = 1.7;
  compare("point find by _id", "finds", setting.rounds, side("Troupe", ours), {sql, get});
}

void compareInserts(const Setting& setting, const Server& ours, const Server& postgres, const Server& redis) {
  const auto side = [&](const char* name, const Server& server, Durability durability, int batch) {
    return Side{.name = name,
                .round = [&, durability, batch] { return insertRound(server, setting, durability, batch); },
                .floor = 1.0};
  };
  const auto mine = [&](Durability durability, int batch) { return side("Troupe", ours, durability, batch); };
  Side fast = side("PostgreSQL, synchronous_commit off", postgres, Durability::kMemory, 1);
  fast.ceiling = 0.45;
  compare("insert, w:1 j:false", "inserts", setting.rounds, mine(Durability::kMemory, 1), {fast});
  Side durable = side("PostgreSQL, synchronous_commit on", postgres, Durability::kDisk, 1);
  durable.ceiling = 0.55;
  Side set = side("Redis SET, appendfsync always", redis, Durability::kDisk, 1);
  set.floor = 0;
  set.ceiling = 1.4;
  compare("insert, w:1 j:true", "inserts", setting.rounds, mine(Durability::kDisk, 1), {durable, set});
  compare("insertMany of 1000", "documents", setting.rounds, mine(Durability::kMemory, 1000),
          {side("PostgreSQL, 1000-row insert", postgres, Durability::kMemory, 1000)});
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            {{"port", "27017"},
                             {"pid", "0"},
                             {"postgres", "host=/var/run/postgresql dbname=postgres"},
                             {"postgres-pid", "0"},
                             {"redis-port", "6379"},
                             {"redis-pid", "0"},
                             {"connections", "16"},
                             {"rounds", "5"},
                             {"seconds", "2"},
                             {"records", "50000"},
                             {"only", ""}});
  return run([&] {
    const Setting setting{arguments.number("connections"), arguments.number("rounds"), arguments.decimal("seconds"),
                          static_cast<uint64_t>(arguments.number("records"))};
    const int port = arguments.number("port"), pid = arguments.number("pid");
    const std::string only = arguments.text("only");  // find, echo or insert; empty: everything
    const auto mongo = openMongo("mongodb://127.0.0.1:" + std::to_string(port) + "/?appname=bench");
    const auto wire = openWire(port);
    load(*mongo, setting.records);
    if (only.empty() || only == "echo") compareEcho(setting, port, pid);
    if (only == "echo") return;
    const auto postgres = openPostgres(arguments.text("postgres"));
    const auto redis = openRedis(arguments.number("redis-port"));
    load(*postgres, setting.records);
    load(*redis, setting.records);
    const Server ours{*wire, pid}, oursByDriver{*mongo, pid};
    const Server theirs{*postgres, arguments.number("postgres-pid")}, keys{*redis, arguments.number("redis-pid")};
    if (only != "insert") compareFinds(setting, ours, oursByDriver, theirs, keys);
    if (only != "find") compareInserts(setting, ours, theirs, keys);
  });
}
