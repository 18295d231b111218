// A tour of libmongoc as programs in C and C++ use it, against a server that runs with --auth and has no users yet.
//   libmongoc_tour PORT
// Prints "ok NAME" or "FAIL NAME: reason" for each step; the exit code is 0 when all went well.
#include <mongoc/mongoc.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* p) const {
    destroy(p);
  }
};
using Bson = std::unique_ptr<bson_t, Destroy<bson_destroy>>;
using Client = std::unique_ptr<mongoc_client_t, Destroy<mongoc_client_destroy>>;
using Collection = std::unique_ptr<mongoc_collection_t, Destroy<mongoc_collection_destroy>>;
using Cursor = std::unique_ptr<mongoc_cursor_t, Destroy<mongoc_cursor_destroy>>;
using Bulk = std::unique_ptr<mongoc_bulk_operation_t, Destroy<mongoc_bulk_operation_destroy>>;
using Session = std::unique_ptr<mongoc_client_session_t, Destroy<mongoc_client_session_destroy>>;

std::string port;

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
void require(bool succeeded, const bson_error_t& error) {
  require(succeeded, std::to_string(error.code) + " " + error.message);
}

Bson json(const std::string& text) {
  bson_error_t error;
  Bson made(
      bson_new_from_json(reinterpret_cast<const uint8_t*>(text.data()), static_cast<ssize_t>(text.size()), &error));
  require(made != nullptr, error);
  return made;
}

Client connect(const std::string& user, const std::string& options = "") {
  const std::string uri = "mongodb://" + user + "127.0.0.1:" + port + "/?directConnection=true" + options;
  Client client(mongoc_client_new(uri.c_str()));
  require(client != nullptr, "no client for " + uri);
  mongoc_client_set_error_api(client.get(), MONGOC_ERROR_API_VERSION_2);
  return client;
}
Client asAdmin(const std::string& options = "") { return connect("admin:s3cret@", options); }

Collection collection(const Client& client, const char* name) {
  return Collection(mongoc_client_get_collection(client.get(), "tour", name));
}

/// Runs a command; its reply, or nothing with `error` filled in.
Bson run(const Client& client, const char* db, const std::string& command, bson_error_t& error) {
  Bson reply(bson_new());
  bson_t raw;
  const bool ok = mongoc_client_command_simple(client.get(), db, json(command).get(), nullptr, &raw, &error);
  bson_copy_to_excluding_noinit(&raw, reply.get(), "", nullptr);
  bson_destroy(&raw);
  return ok ? std::move(reply) : nullptr;
}
Bson run(const Client& client, const char* db, const std::string& command) {
  bson_error_t error;
  Bson reply = run(client, db, command, error);
  require(reply != nullptr, error);
  return reply;
}
void fails(uint32_t code, const Client& client, const char* db, const std::string& command) {
  bson_error_t error{};
  require(run(client, db, command, error) == nullptr, "no error: " + command);
  require(error.code == code,
          "error " + std::to_string(error.code) + " " + error.message + " instead of " + std::to_string(code));
}

int64_t number(const bson_t* document, const char* path) {
  bson_iter_t at, found;
  require(bson_iter_init(&at, document) && bson_iter_find_descendant(&at, path, &found), std::string("no ") + path);
  return bson_iter_as_int64(&found);
}

/// The results to the end, as relaxed JSON.
std::vector<std::string> all(const Cursor& cursor) {
  std::vector<std::string> rows;
  const bson_t* document = nullptr;
  while (mongoc_cursor_next(cursor.get(), &document)) {
    char* text = bson_as_relaxed_extended_json(document, nullptr);
    rows.emplace_back(text);
    bson_free(text);
  }
  bson_error_t error;
  require(!mongoc_cursor_error(cursor.get(), &error), error);
  return rows;
}
std::vector<std::string> find(const Collection& in, const std::string& filter, const std::string& options) {
  return all(Cursor(mongoc_collection_find_with_opts(in.get(), json(filter).get(), json(options).get(), nullptr)));
}

void insertMany(const Collection& into, int count) {
  std::vector<Bson> owned;
  std::vector<const bson_t*> documents;
  for (int i = 0; i < count; ++i) {
    owned.push_back(Bson(BCON_NEW("_id", BCON_INT32(i), "x", BCON_INT32(i % 10))));
    documents.push_back(owned.back().get());
  }
  bson_error_t error;
  require(mongoc_collection_insert_many(into.get(), documents.data(), documents.size(), nullptr, nullptr, &error),
          error);
}

void firstUser() {
  const Client nobody = connect("");
  fails(13, nobody, "tour", R"({"find": "c"})");
  run(nobody, "admin", R"({"createUser": "admin", "pwd": "s3cret", "roles": ["root"]})");
  run(asAdmin("&authMechanism=SCRAM-SHA-1"), "admin", R"({"ping": 1})");
  run(asAdmin("&authMechanism=SCRAM-SHA-256"), "admin", R"({"ping": 1})");
  bson_error_t error{};
  require(
      run(connect("admin:wrong@"), "admin", R"({"ping": 1})", error) == nullptr && error.domain == MONGOC_ERROR_CLIENT,
      "a wrong password logs in");
}

void documents() {
  const Client client = asAdmin();
  const Collection c = collection(client, "c");
  insertMany(c, 300);
  bson_error_t error;
  bson_t reply;
  require(mongoc_collection_update_many(c.get(), json(R"({"x": 3})").get(), json(R"({"$set": {"seen": true}})").get(),
                                        nullptr, &reply, &error),
          error);
  require(number(&reply, "modifiedCount") == 30, "not thirty were changed");
  bson_destroy(&reply);
  require(mongoc_collection_delete_many(c.get(), json(R"({"_id": {"$gte": 290}})").get(), nullptr, nullptr, &error),
          error);
  require(mongoc_collection_count_documents(c.get(), json("{}").get(), nullptr, nullptr, nullptr, &error) == 290,
          "not 290 are left");
  require(find(c, R"({"_id": 3})", "{}") == std::vector<std::string>{R"({ "_id" : 3, "x" : 3, "seen" : true })"},
          "another document");
}

void cursors() {
  const Client client = asAdmin();
  const Collection c = collection(client, "c");
  for (const auto* options : {R"({"batchSize": 7})", R"({"batchSize": 7, "exhaust": true})", R"({"batchSize": 0})"})
    require(find(c, "{}", options).size() == 290, std::string("not all by ") + options);
  const Cursor left(
      mongoc_collection_find_with_opts(c.get(), json("{}").get(), json(R"({"batchSize": 2})").get(), nullptr));
  const bson_t* document = nullptr;
  require(mongoc_cursor_next(left.get(), &document), "no first document");  // killed when it goes
}

void pipelines() {
  const Client client = asAdmin();
  const Collection c = collection(client, "c");
  const Bson stages = json(
      R"({"pipeline": [{"$match": {"x": {"$lt": 2}}}, {"$group": {"_id": "$x", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]})");
  const Cursor cursor(mongoc_collection_aggregate(c.get(), MONGOC_QUERY_NONE, stages.get(), nullptr, nullptr));
  require(all(cursor) == std::vector<std::string>{R"({ "_id" : 0, "n" : 29 })", R"({ "_id" : 1, "n" : 29 })"},
          "other groups");
}

uint32_t executeBulk(const Collection& in, const std::string& options, bson_t* reply) {
  const Bulk bulk(mongoc_collection_create_bulk_operation_with_opts(in.get(), json(options).get()));
  bson_error_t error{};
  for (const auto* document : {R"({"_id": 1})", R"({"_id": 1})"})
    require(mongoc_bulk_operation_insert_with_opts(bulk.get(), json(document).get(), nullptr, &error), error);
  require(mongoc_bulk_operation_update_one_with_opts(bulk.get(), json(R"({"_id": 1})").get(),
                                                     json(R"({"$set": {"a": 1}})").get(), nullptr, &error),
          error);
  return mongoc_bulk_operation_execute(bulk.get(), reply, &error) != 0 ? 0 : error.code;
}

void bulkWrites() {
  const Client client = asAdmin();
  bson_t reply;
  require(executeBulk(collection(client, "ordered"), R"({"ordered": true})", &reply) == 11000, "no duplicate");
  require(number(&reply, "nInserted") == 1 && number(&reply, "nModified") == 0, "an ordered one goes on");
  bson_destroy(&reply);
  require(executeBulk(collection(client, "unordered"), R"({"ordered": false})", &reply) == 11000, "no duplicate");
  require(number(&reply, "nModified") == 1 && number(&reply, "writeErrors.0.index") == 1, "an unordered one stops");
  bson_destroy(&reply);
}

void sessions() {
  const Client client = asAdmin();
  bson_error_t error;
  const Session session(mongoc_client_start_session(client.get(), nullptr, &error));
  require(session != nullptr, error);
  bson_t options = BSON_INITIALIZER;
  require(mongoc_client_session_append(session.get(), &options, &error), error);
  const Collection c = collection(client, "c");
  const Cursor cursor(mongoc_collection_find_with_opts(c.get(), json("{}").get(), &options, nullptr));
  bson_destroy(&options);
  require(all(cursor).size() == 290, "not all by a session");
}

void indexes() {
  const Client client = asAdmin();
  const Collection c = collection(client, "c");
  run(client, "tour", R"({"createIndexes": "c", "indexes": [{"key": {"x": 1, "_id": -1}, "name": "by x"}]})");
  require(all(Cursor(mongoc_collection_find_indexes_with_opts(c.get(), nullptr))).size() == 2, "not two indexes");
  require(find(c, R"({"x": 4})", R"({"hint": "by x", "limit": 1})") ==
              std::vector<std::string>{R"({ "_id" : 284, "x" : 4 })"},
          "another order");
  bson_error_t error;
  require(mongoc_collection_drop_index(c.get(), "by x", &error), error);
  fails(27, client, "tour", R"({"dropIndexes": "c", "index": "by x"})");
}

void errors() {
  const Client client = asAdmin();
  bson_error_t error{};
  require(!mongoc_collection_insert_one(collection(client, "c").get(), json(R"({"_id": 1})").get(), nullptr, nullptr,
                                        &error) &&
              error.code == 11000,
          "no duplicate");
  fails(59, client, "tour", R"({"noSuchCommand": 1})");
  fails(73, client, "tour", R"({"create": "a$b"})");
  fails(40415, client, "tour", R"({"find": "c", "noSuchField": 1})");
}

void users() {
  const Client admin = asAdmin();
  run(admin, "tour", R"({"createUser": "eve", "pwd": "one", "roles": ["read"]})");
  const Client eve = connect("eve:one@", "&authSource=tour");
  run(eve, "tour", R"({"find": "c", "limit": 1})");
  fails(13, eve, "tour", R"({"insert": "hers", "documents": [{"_id": 1}]})");
  run(admin, "tour", R"({"grantRolesToUser": "eve", "roles": ["readWrite"]})");
  run(eve, "tour", R"({"insert": "hers", "documents": [{"_id": 1}]})");
  run(admin, "tour", R"({"dropUser": "eve"})");
  fails(13, eve, "tour", R"({"find": "hers"})");
}

void brokenHandshake() {
  const Client admin = asAdmin();
  run(admin, "admin", R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                          "data": {"failCommands": ["find"], "closeConnection": true, "appName": "again"}})");
  const Client again = asAdmin("&appname=again&retryReads=true");
  require(find(collection(again, "c"), R"({"_id": 1})", "{}").size() == 1, "not found again");
}

void compression() {
  const Client admin = asAdmin();
  const auto received = [&] { return number(run(admin, "admin", R"({"serverStatus": 1})").get(), "network.bytesIn"); };
  int id = 0;
  for (const auto* compressor : {"snappy", "zlib", "zstd"}) {
    const Client squeezed = asAdmin(std::string("&compressors=") + compressor);
    run(squeezed, "admin", R"({"ping": 1})");
    const int64_t before = received();
    const Collection big = collection(squeezed, "big");
    bson_error_t error;
    const Bson document(BCON_NEW("_id", BCON_INT32(++id), "text", BCON_UTF8(std::string(4'000'000, 'x').c_str())));
    require(mongoc_collection_insert_one(big.get(), document.get(), nullptr, nullptr, &error), error);
    require(received() - before < 1'000'000, std::string(compressor) + ": four megabytes went over the wire");
    const auto found = find(big, "{\"_id\": " + std::to_string(id) + "}", "{}");
    require(found.size() == 1 && found[0].size() > 4'000'000, std::string(compressor) + ": not all of it came back");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "libmongoc_tour PORT\n"), 2;
  port = argv[1];
  mongoc_init();
  const std::pair<const char*, void (*)()> steps[] = {
      {"the first user is made, and logs in by both mechanisms", firstUser},
      {"documents are written, found, changed and removed", documents},
      {"cursors fetch in batches, exhaust, and can be left early", cursors},
      {"pipelines group", pipelines},
      {"bulk writes stop at an error when ordered, and only then", bulkWrites},
      {"sessions carry cursors", sessions},
      {"indexes are made, listed, used and dropped", indexes},
      {"errors come with the codes that applications look at", errors},
      {"users change, and so do their rights on open connections", users},
      {"a read survives a connection that breaks", brokenHandshake},
      {"messages are compressed, by each compressor", compression},
  };
  int failed = 0;
  for (const auto& [name, work] : steps) {
    try {
      work();
      std::printf("ok %s\n", name);
    } catch (const std::exception& e) {
      ++failed;
      std::printf("FAIL %s: %s\n", name, e.what());
    }
  }
  mongoc_cleanup();
  return failed == 0 ? 0 : 1;
}
