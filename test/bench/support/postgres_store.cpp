#include <libpq-fe.h>

#include "test/bench/support/measure.hpp"
#include "test/bench/support/store.hpp"

namespace troupe::bench {

namespace {

constexpr size_t kRowsAtOnce = 1000;

struct Close {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, Close>;
using Rows = std::unique_ptr<PGresult, Close>;

Rows checked(PGconn* connection, PGresult* result) {
  Rows rows(result);
  const auto status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw BenchError(std::string("PostgreSQL answered: ") + PQerrorMessage(connection));
  }
  return rows;
}

Connection connectTo(const std::string& conninfo) {
  Connection connection(PQconnectdb(conninfo.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) throw BenchError(PQerrorMessage(connection.get()));
  return connection;
}

void execute(PGconn* connection, const std::string& sql) { checked(connection, PQexec(connection, sql.c_str())); }

class PostgresStore final : public Store {
 public:
  PostgresStore(const std::string& conninfo, Durability durability) : connection_(connectTo(conninfo)) {
    execute(connection_.get(),
            durability == Durability::kDisk ? "SET synchronous_commit = on" : "SET synchronous_commit = off");
    prepare("find", "SELECT id, doc FROM docs WHERE id = $1");
    prepare("insert", "INSERT INTO docs (id, doc) VALUES ($1, $2)");
    prepare("update", "UPDATE docs SET doc = doc || $2 WHERE id = $1");
    prepare("scan", "SELECT id, doc FROM docs WHERE id >= $1 ORDER BY id LIMIT $2");
  }

  void find(const std::string& key) override {
    const char* values[] = {key.c_str()};
    if (PQntuples(run("find", values).get()) != 1) throw BenchError("no row with id " + key);
  }

  void insert(const Record& record) override {
    const std::string json = toJson(record);
    const char* values[] = {record.key.c_str(), json.c_str()};
    run("insert", values);
  }

  void insertMany(std::span<const Record> records) override {
    if (records.size() != kRowsAtOnce) {
      for (const Record& record : records) insert(record);
      return;
    }
    if (!manyPrepared_) prepareMany();
    std::vector<std::string> json;
    json.reserve(records.size());
    std::vector<const char*> values;
    for (const Record& record : records) {
      json.push_back(toJson(record));
      values.push_back(record.key.c_str());
      values.push_back(json.back().c_str());
    }
    run("insertMany", values);
  }

  void update(const std::string& key, size_t field, std::string_view value) override {
    const std::string change = "{\"" + fieldName(field) + "\":\"" + std::string(value) + "\"}";
    const char* values[] = {key.c_str(), change.c_str()};
    run("update", values);
  }

  void scan(const std::string& from, int count) override {
    const std::string limit = std::to_string(count);
    const char* values[] = {from.c_str(), limit.c_str()};
    run("scan", values);
  }

 private:
  void prepare(const char* name, const std::string& sql) {
    checked(connection_.get(), PQprepare(connection_.get(), name, sql.c_str(), 0, nullptr));
  }

  void prepareMany() {
    std::string sql = "INSERT INTO docs (id, doc) VALUES ";
    for (size_t i = 0; i < kRowsAtOnce; ++i) {
      sql += (i == 0 ? "($" : ",($") + std::to_string(2 * i + 1) + ",$" + std::to_string(2 * i + 2) + ")";
    }
    prepare("insertMany", sql);
    manyPrepared_ = true;
  }

  Rows run(const char* statement, std::span<const char* const> values) {
    return checked(connection_.get(), PQexecPrepared(connection_.get(), statement, static_cast<int>(values.size()),
                                                     values.data(), nullptr, nullptr, 0));
  }

  Connection connection_;
  bool manyPrepared_ = false;
};

class Postgres final : public Database {
 public:
  explicit Postgres(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  std::string name() const override { return "PostgreSQL"; }
  void reset() override {
    const Connection connection = connectTo(conninfo_);
    execute(connection.get(), "DROP TABLE IF EXISTS docs");
    execute(connection.get(), "CREATE TABLE docs (id text COLLATE \"C\" PRIMARY KEY, doc jsonb NOT NULL)");
  }
  std::unique_ptr<Store> connect(Durability durability) override {
    return std::make_unique<PostgresStore>(conninfo_, durability);
  }

 private:
  std::string conninfo_;
};

}  // namespace

std::unique_ptr<Database> openPostgres(const std::string& conninfo) { return std::make_unique<Postgres>(conninfo); }

}  // namespace troupe::bench
