// Writes with libmongoc at its defaults until its standard input ends; prints a line for each write (history.py).
//   libmongoc_writer URI NAME LANES PAUSE_MS
// The clients come from a pool, as in any program with threads: its monitors find a new primary in the background.
#include <mongoc/mongoc.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
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
using Collection = std::unique_ptr<mongoc_collection_t, Destroy<mongoc_collection_destroy>>;
using Modify = std::unique_ptr<mongoc_find_and_modify_opts_t, Destroy<mongoc_find_and_modify_opts_destroy>>;

struct Outcome {
  bool acknowledged = false;
  std::string value;
  Bson reply{bson_new()};
  bson_error_t error{};

  /// Runs `call`, which initializes the reply that it is given.
  template <class Call>
  explicit Outcome(Call call) {
    bson_t raw;
    acknowledged = call(&raw, &error);
    bson_copy_to_excluding_noinit(&raw, reply.get(), "", nullptr);
    bson_destroy(&raw);
  }

  /// A number of the reply; 0 without one.
  int64_t number(const char* path) const {
    bson_iter_t at, found;
    const bool there = bson_iter_init(&at, reply.get()) && bson_iter_find_descendant(&at, path, &found);
    return there ? bson_iter_as_int64(&found) : 0;
  }

  /// A write concern that was not met leaves open whether the write lasts; a label says that the driver may try again,
  /// and it did.
  const char* name() const {
    if (acknowledged) return "acknowledged";
    const bool refused = error.domain == MONGOC_ERROR_SERVER && !bson_has_field(reply.get(), "writeConcernError");
    return refused && !mongoc_error_has_label(reply.get(), "RetryableWriteError") ? "failed" : "unknown";
  }
};

Bson idOf(const std::string& id) { return Bson(BCON_NEW("_id", BCON_UTF8(id.c_str()))); }
Bson oneMore() { return Bson(BCON_NEW("$inc", "{", "n", BCON_INT32(1), "}")); }

Outcome update(mongoc_collection_t* counters, const std::string& lane) {
  const Bson id = idOf(lane + "-update"), change = oneMore(), options(BCON_NEW("upsert", BCON_BOOL(true)));
  Outcome outcome([&](bson_t* reply, bson_error_t* error) {
    return mongoc_collection_update_one(counters, id.get(), change.get(), options.get(), reply, error);
  });
  outcome.value = std::to_string(outcome.number("modifiedCount") + outcome.number("upsertedCount"));
  return outcome;
}

Outcome modify(mongoc_collection_t* counters, const std::string& lane) {
  const Bson id = idOf(lane + "-modify"), change = oneMore();
  const Modify options(mongoc_find_and_modify_opts_new());
  mongoc_find_and_modify_opts_set_update(options.get(), change.get());
  mongoc_find_and_modify_opts_set_flags(
      options.get(),
      static_cast<mongoc_find_and_modify_flags_t>(MONGOC_FIND_AND_MODIFY_UPSERT | MONGOC_FIND_AND_MODIFY_RETURN_NEW));
  Outcome outcome([&](bson_t* reply, bson_error_t* error) {
    return mongoc_collection_find_and_modify_with_opts(counters, id.get(), options.get(), reply, error);
  });
  outcome.value = std::to_string(outcome.number("value.n"));
  return outcome;
}

Outcome insert(mongoc_collection_t* notes, const std::string& lane, int number) {
  const Bson document = idOf(lane + "-" + std::to_string(number));
  return Outcome([&](bson_t* reply, bson_error_t* error) {
    return mongoc_collection_insert_one(notes, document.get(), nullptr, reply, error);
  });
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

void print(int lane, const char* kind, int number, const Outcome& outcome, double begun) {
  std::string said;
  if (!outcome.acknowledged) {
    said =
        std::to_string(outcome.error.domain) + " " + std::to_string(outcome.error.code) + " " + outcome.error.message;
    for (char& c : said)
      if (c == '\t' || c == '\n') c = ' ';
  }
  std::printf("%d\t%s\t%d\t%s\t%.3f\t%.3f\t%s\t%s\n", lane, kind, number, outcome.name(), begun, now(),
              outcome.acknowledged ? outcome.value.c_str() : "", said.c_str());
  std::fflush(stdout);
}

void write(mongoc_client_pool_t* pool, const std::string& name, int lane, std::chrono::milliseconds pause,
           const std::atomic<bool>& ending) {
  mongoc_client_t* client = mongoc_client_pool_pop(pool);
  {
    const Collection counters(mongoc_client_get_collection(client, "failovers", "counters"));
    const Collection notes(mongoc_client_get_collection(client, "failovers", "notes"));
    const std::string own = name + "-" + std::to_string(lane);
    for (int number = 0; !ending; ++number) {
      const double begun = now();
      if (number % 3 == 0) print(lane, "update", number, update(counters.get(), own), begun);
      if (number % 3 == 1) print(lane, "modify", number, modify(counters.get(), own), begun);
      if (number % 3 == 2) print(lane, "insert", number, insert(notes.get(), own, number), begun);
      std::this_thread::sleep_for(pause);
    }
  }
  mongoc_client_pool_push(pool, client);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "libmongoc_writer URI NAME LANES PAUSE_MS\n"), 2;
  mongoc_init();
  mongoc_log_set_handler(nullptr, nullptr);  // its debug lines are none of a writer's
  bson_error_t error{};
  mongoc_uri_t* uri = mongoc_uri_new_with_error(argv[1], &error);
  mongoc_client_pool_t* pool = uri != nullptr ? mongoc_client_pool_new(uri) : nullptr;
  if (pool == nullptr) return std::fprintf(stderr, "no clients for %s: %s\n", argv[1], error.message), 2;
  mongoc_client_pool_set_error_api(pool, MONGOC_ERROR_API_VERSION_2);
  std::atomic<bool> ending = false;
  std::vector<std::thread> lanes;
  for (int lane = 0; lane < std::atoi(argv[3]); ++lane)
    lanes.emplace_back(
        [&, lane] { write(pool, argv[2], lane, std::chrono::milliseconds(std::atoi(argv[4])), ending); });
  while (std::getchar() != EOF) {
  }
  ending = true;
  for (std::thread& lane : lanes) lane.join();
  mongoc_client_pool_destroy(pool);
  mongoc_uri_destroy(uri);
  mongoc_cleanup();
  return 0;
}
