#include "test/bench/support/store.hpp"

#include <cstdio>
#include <future>

#include "test/bench/support/measure.hpp"

namespace troupe::bench {

namespace {

constexpr size_t kFieldBytes = 92;  // ten of them with their names and the key make 1 KiB
constexpr size_t kPoolBytes = 1 << 20;

uint64_t fnv64(uint64_t number) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 8; ++i, number >>= 8) hash = (hash ^ (number & 0xff)) * 0x100000001b3;
  return hash;
}

}  // namespace

RecordMaker::RecordMaker(uint64_t seed) : random_(seed) {
  static constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -";
  pool_.resize(kPoolBytes);
  for (char& c : pool_) c = kLetters[random_() & 63];
}

std::string RecordMaker::key(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "user%020llu", static_cast<unsigned long long>(fnv64(number)));
  return text;
}

std::string_view RecordMaker::text() {
  return std::string_view(pool_).substr(random_() % (kPoolBytes - kFieldBytes), kFieldBytes);
}

Record RecordMaker::record(uint64_t number) {
  Record record{key(number), {}};
  for (auto& field : record.fields) field = text();
  return record;
}

const std::string& fieldName(size_t index) {
  static const std::array<std::string, Record::kFields> names{"field0", "field1", "field2", "field3", "field4",
                                                              "field5", "field6", "field7", "field8", "field9"};
  return names[index];
}

/// The texts are letters, digits, blanks and dashes: nothing to escape.
std::string toJson(const Record& record) {
  std::string json = "{";
  for (size_t i = 0; i < Record::kFields; ++i) {
    json.append(i == 0 ? "\"" : ",\"").append(fieldName(i)).append("\":\"").append(record.fields[i]).append("\"");
  }
  return json + "}";
}

void Store::update(const std::string&, size_t, std::string_view) { throw BenchError("no fields to update"); }
void Store::scan(const std::string&, int) { throw BenchError("no order to scan in"); }

void load(Database& database, uint64_t count) {
  constexpr uint64_t kThreads = 2, kBatch = 1000;
  database.reset();
  const auto part = [&](uint64_t thread) {
    RecordMaker maker(thread);
    const auto store = database.connect(Durability::kMemory);
    const uint64_t end = count * (thread + 1) / kThreads;
    for (uint64_t next = count * thread / kThreads; next < end;) {
      std::vector<Record> batch;
      while (batch.size() < kBatch && next < end) batch.push_back(maker.record(next++));
      store->insertMany(batch);
    }
  };
  std::vector<std::future<void>> loaders;
  for (uint64_t t = 0; t < kThreads; ++t) loaders.push_back(std::async(std::launch::async, part, t));
  for (auto& loader : loaders) loader.get();
}

}  // namespace troupe::bench
