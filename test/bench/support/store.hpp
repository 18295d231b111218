#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {

/// A record of YCSB's shape: a key and ten text fields, about 1 KiB as a document. The fields are borrowed from a
/// RecordMaker.
struct Record {
  static constexpr size_t kFields = 10;
  std::string key;
  std::array<std::string_view, kFields> fields;
};

/// Makes keys and records; equal numbers give equal keys. Used by one thread.
class RecordMaker {
 public:
  explicit RecordMaker(uint64_t seed);
  /// "user" and the hashed number, so that neighbours in time are not neighbours in order.
  static std::string key(uint64_t number);
  Record record(uint64_t number);
  std::string_view text();  ///< one field's worth of random text
  std::mt19937_64& random() { return random_; }

 private:
  std::mt19937_64 random_;
  std::string pool_;
};

/// "field0" ... "field9".
const std::string& fieldName(size_t index);

/// The record's fields as text; the key is not among them.
std::string toJson(const Record& record);

/// How durable a write is when it is acknowledged: in memory (`j: false`, `synchronous_commit = off`) or on the disk.
enum class Durability { kMemory, kDisk };

/// One connection to a database that keeps records; the same for each of those compared. Used by one thread.
/// Every call throws BenchError when the database refuses it or does not have what was asked for.
class Store {
 public:
  virtual ~Store() = default;
  virtual void find(const std::string& key) = 0;
  virtual void insert(const Record& record) = 0;
  virtual void insertMany(std::span<const Record> records) = 0;
  /// A store of bare keys and values knows neither fields nor an order, and refuses these two.
  virtual void update(const std::string& key, size_t field, std::string_view value);
  /// Reads up to `count` records in the order of keys, from `from` on.
  virtual void scan(const std::string& from, int count);
};

/// Connects to one of the databases.
class Database {
 public:
  virtual ~Database() = default;
  virtual std::string name() const = 0;
  /// Makes the table empty.
  virtual void reset() = 0;
  virtual std::unique_ptr<Store> connect(Durability durability) = 0;
};

/// Over libmongoc; `uri` names a server.
std::unique_ptr<Database> openMongo(const std::string& uri);
/// The same server over a thin client of its own that does per call what libpq does: encode, send, receive, check.
/// Compares servers; libmongoc itself costs more than a find.
std::unique_ptr<Database> openWire(int port);
/// Over libpq, as jsonb documents by a text key with prepared statements; `conninfo` as libpq takes it.
std::unique_ptr<Database> openPostgres(const std::string& conninfo);
/// Over hiredis, as JSON texts by key. How durable a SET is was said when the server was started, for all connections.
std::unique_ptr<Database> openRedis(int port);

/// Fills an empty table with the records 0 to `count` - 1, over a few connections.
void load(Database& database, uint64_t count);

}  // namespace troupe::bench
