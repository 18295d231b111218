#include "messaging/bson/document.hpp"
#include "test/bench/support/command_client.hpp"
#include "test/bench/support/store.hpp"

namespace troupe::bench {

namespace {

constexpr const char* kCollection = "docs";

bson::Document toBson(const Record& record) {
  bson::Builder builder;
  builder.reserve(1200);
  builder.append("_id", record.key);
  for (size_t i = 0; i < Record::kFields; ++i) builder.append(fieldName(i), record.fields[i]);
  return builder.finish();
}

class WireStore final : public Store {
 public:
  WireStore(int port, Durability durability)
      : client_(port), concern_(bson::doc("w", 1, "j", durability == Durability::kDisk)) {}

  void reset() {
    client_.run(bson::doc("drop", kCollection));
    client_.run(bson::doc("create", kCollection));
  }

  void find(const std::string& key) override {
    const auto reply = client_.run(
        bson::doc("find", kCollection, "filter", bson::doc("_id", key), "limit", int64_t{1}, "singleBatch", true));
    if (reply.at("cursor.firstBatch").asArray().empty()) throw BenchError("no document with _id " + key);
  }

  void insert(const Record& record) override {
    const bson::Document document = toBson(record);
    insertAll(document.view().bytes(), 1);
  }

  void insertMany(std::span<const Record> records) override {
    std::string documents;
    for (const Record& record : records) documents += toBson(record).view().bytes();
    insertAll(documents, records.size());
  }

  void update(const std::string& key, size_t field, std::string_view value) override {
    const auto statement =
        bson::doc("q", bson::doc("_id", key), "u", bson::doc("$set", bson::doc(fieldName(field), value)));
    client_.run(bson::doc("update", kCollection, "updates", std::vector{statement}, "writeConcern", concern_));
  }

  void scan(const std::string& from, int count) override {
    client_.run(bson::doc("find", kCollection, "filter", bson::doc("_id", bson::doc("$gte", from)), "sort",
                          bson::doc("_id", 1), "limit", int64_t{count}));
  }

 private:
  void insertAll(std::string_view documents, size_t count) {
    const wire::DocumentSequence sequence{"documents", wire::DocumentRange(documents, count)};
    const auto reply =
        client_.run(bson::doc("insert", kCollection, "ordered", true, "writeConcern", concern_), {&sequence, 1});
    if (reply["n"].toInt64() != static_cast<int64_t>(count)) throw BenchError("not everything was inserted");
  }

  CommandClient client_;
  bson::Document concern_;
};

class Wire final : public Database {
 public:
  explicit Wire(int port) : port_(port) {}
  std::string name() const override { return "Troupe"; }
  void reset() override { WireStore(port_, Durability::kMemory).reset(); }
  std::unique_ptr<Store> connect(Durability durability) override {
    return std::make_unique<WireStore>(port_, durability);
  }

 private:
  int port_;
};

}  // namespace

std::unique_ptr<Database> openWire(int port) { return std::make_unique<Wire>(port); }

}  // namespace troupe::bench
