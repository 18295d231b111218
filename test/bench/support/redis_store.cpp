#include <hiredis/hiredis.h>

#include "test/bench/support/measure.hpp"
#include "test/bench/support/store.hpp"

namespace troupe::bench {

namespace {

struct Free {
  void operator()(redisContext* connection) const { redisFree(connection); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, Free>;

class RedisStore final : public Store {
 public:
  explicit RedisStore(int port) : connection_(redisConnect("127.0.0.1", port)) {
    if (!connection_ || connection_->err != 0) throw BenchError("no connection to Redis");
  }

  void reset() {
    append({"FLUSHALL"});
    (void)next(REDIS_REPLY_STATUS);
  }

  void find(const std::string& key) override {
    append({"GET", key});
    (void)next(REDIS_REPLY_STRING);
  }

  void insert(const Record& record) override { insertMany({&record, 1}); }

  void insertMany(std::span<const Record> records) override {
    for (const Record& record : records) append({"SET", record.key, toJson(record)});
    for (size_t i = 0; i < records.size(); ++i) (void)next(REDIS_REPLY_STATUS);
  }

 private:
  void append(std::initializer_list<std::string_view> words) {
    std::array<const char*, 3> texts{};
    std::array<size_t, 3> sizes{};
    int count = 0;
    for (const std::string_view word : words) {
      texts.at(count) = word.data();
      sizes.at(count++) = word.size();
    }
    if (redisAppendCommandArgv(connection_.get(), count, texts.data(), sizes.data()) != REDIS_OK) refuse();
  }

  /// The next reply, which must be of this type.
  Reply next(int type) {
    void* reply = nullptr;
    if (redisGetReply(connection_.get(), &reply) != REDIS_OK) refuse();
    Reply owned(static_cast<redisReply*>(reply));
    if (owned->type != type) throw BenchError("Redis answered: " + std::string(owned->str ? owned->str : "nothing"));
    return owned;
  }

  [[noreturn]] void refuse() const { throw BenchError(std::string("Redis: ") + connection_->errstr); }

  std::unique_ptr<redisContext, Free> connection_;
};

class Redis final : public Database {
 public:
  explicit Redis(int port) : port_(port) {}
  std::string name() const override { return "Redis"; }
  void reset() override { RedisStore(port_).reset(); }
  std::unique_ptr<Store> connect(Durability) override { return std::make_unique<RedisStore>(port_); }

 private:
  int port_;
};

}  // namespace

std::unique_ptr<Database> openRedis(int port) { return std::make_unique<Redis>(port); }

}  // namespace troupe::bench
