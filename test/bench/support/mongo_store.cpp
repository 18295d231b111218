#include <mongoc/mongoc.h>

#include "test/bench/support/measure.hpp"
#include "test/bench/support/store.hpp"

namespace troupe::bench {

namespace {

constexpr const char* kDatabase = "bench";
constexpr const char* kCollection = "docs";

template <class T, void (*Destroy)(T*)>
struct Deleter {
  void operator()(T* object) const { Destroy(object); }
};
using Client = std::unique_ptr<mongoc_client_t, Deleter<mongoc_client_t, mongoc_client_destroy>>;
using Collection = std::unique_ptr<mongoc_collection_t, Deleter<mongoc_collection_t, mongoc_collection_destroy>>;
using Cursor = std::unique_ptr<mongoc_cursor_t, Deleter<mongoc_cursor_t, mongoc_cursor_destroy>>;
using Document = std::unique_ptr<bson_t, Deleter<bson_t, bson_destroy>>;

void require(bool ok, const bson_error_t& error) {
  if (!ok) throw BenchError(std::string("the server answered: ") + error.message);
}

Client connectTo(const std::string& uri) {
  Client client(mongoc_client_new(uri.c_str()));
  if (!client) throw BenchError("not a connection string: " + uri);
  return client;
}

void appendText(bson_t* to, std::string_view name, std::string_view value) {
  bson_append_utf8(to, name.data(), static_cast<int>(name.size()), value.data(), static_cast<int>(value.size()));
}

Document toBson(const Record& record) {
  Document document(bson_sized_new(1200));
  appendText(document.get(), "_id", record.key);
  for (size_t i = 0; i < Record::kFields; ++i) appendText(document.get(), fieldName(i), record.fields[i]);
  return document;
}

Document byKey(const std::string& key) {
  Document filter(bson_new());
  appendText(filter.get(), "_id", key);
  return filter;
}

class MongoStore final : public Store {
 public:
  MongoStore(const std::string& uri, Durability durability)
      : client_(connectTo(uri)), collection_(mongoc_client_get_collection(client_.get(), kDatabase, kCollection)) {
    mongoc_write_concern_t* concern = mongoc_write_concern_new();
    mongoc_write_concern_set_w(concern, 1);
    mongoc_write_concern_set_journal(concern, durability == Durability::kDisk);
    mongoc_collection_set_write_concern(collection_.get(), concern);
    mongoc_write_concern_destroy(concern);
  }

  void find(const std::string& key) override {
    if (read(byKey(key).get(), one_.get()) != 1) throw BenchError("no document with _id " + key);
  }

  void insert(const Record& record) override {
    bson_error_t error;
    require(mongoc_collection_insert_one(collection_.get(), toBson(record).get(), unchecked_.get(), nullptr, &error),
            error);
  }

  void insertMany(std::span<const Record> records) override {
    std::vector<Document> documents;
    std::vector<const bson_t*> pointers;
    for (const Record& record : records) {
      documents.push_back(toBson(record));
      pointers.push_back(documents.back().get());
    }
    bson_error_t error;
    require(mongoc_collection_insert_many(collection_.get(), pointers.data(), pointers.size(), unchecked_.get(),
                                          nullptr, &error),
            error);
  }

  void update(const std::string& key, size_t field, std::string_view value) override {
    Document change(bson_new());
    bson_t set;
    bson_append_document_begin(change.get(), "$set", -1, &set);
    appendText(&set, fieldName(field), value);
    bson_append_document_end(change.get(), &set);
    bson_error_t error;
    require(mongoc_collection_update_one(collection_.get(), byKey(key).get(), change.get(), nullptr, nullptr, &error),
            error);
  }

  void scan(const std::string& from, int count) override {
    const Document filter(BCON_NEW("_id", "{", "$gte", BCON_UTF8(from.c_str()), "}"));
    const Document options(BCON_NEW("limit", BCON_INT64(count), "sort", "{", "_id", BCON_INT32(1), "}"));
    read(filter.get(), options.get());
  }

 private:
  int read(const bson_t* filter, const bson_t* options) {
    const Cursor cursor(mongoc_collection_find_with_opts(collection_.get(), filter, options, nullptr));
    int found = 0;
    for (const bson_t* document; mongoc_cursor_next(cursor.get(), &document);) ++found;
    bson_error_t error;
    require(!mongoc_cursor_error(cursor.get(), &error), error);
    return found;
  }

  Client client_;
  Collection collection_;
  Document unchecked_{BCON_NEW("validate", BCON_BOOL(false))};  // the server validates
  Document one_{BCON_NEW("limit", BCON_INT64(1), "singleBatch", BCON_BOOL(true))};
};

class Mongo final : public Database {
 public:
  explicit Mongo(std::string uri) : uri_(std::move(uri)) { mongoc_init(); }
  ~Mongo() override { mongoc_cleanup(); }
  std::string name() const override { return "Troupe"; }
  void reset() override {
    const Client client = connectTo(uri_);
    const Collection collection(mongoc_client_get_collection(client.get(), kDatabase, kCollection));
    bson_error_t error;
    const bool dropped = mongoc_collection_drop(collection.get(), &error);
    constexpr uint32_t kNamespaceNotFound = 26;
    if (!dropped && error.code != kNamespaceNotFound) require(false, error);
    const Document create(BCON_NEW("create", BCON_UTF8(kCollection)));
    require(mongoc_client_command_simple(client.get(), kDatabase, create.get(), nullptr, nullptr, &error), error);
  }
  std::unique_ptr<Store> connect(Durability durability) override {
    return std::make_unique<MongoStore>(uri_, durability);
  }

 private:
  std::string uri_;
};

}  // namespace

std::unique_ptr<Database> openMongo(const std::string& uri) { return std::make_unique<Mongo>(uri); }

}  // namespace troupe::bench
