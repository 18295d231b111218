// Cost of memory budgets and interrupt checks in loops over client data: pipelines over documents in memory, run for an
// operation with a deadline, a budget and a client to look after, and without an operation. In processor time of the
// thread. Prints one JSON line per figure.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/environment/environment.hpp"
#include "messaging/bson/json.hpp"
#include "storage/engine/deterministic_engine.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/pipeline/pipeline.hpp"
#include "test/bench/support/measure.hpp"

namespace {

using namespace troupe;
using bson::Document;

constexpr int kDocuments = 5'000;
constexpr int kRounds = 31;
constexpr double kMost = 1.03;

/// What commands give to their queries.
class Work final : public query::QueryWork {
 public:
  Work(storage::OperationContext& operation, const Environment& environment)
      : operation_(operation), environment_(environment) {}
  TimePoint coarseNow() const override { return environment_.coarseNow(); }
  Status checkForInterrupt() override { return operation_.checkForInterrupt(environment_.coarseNow()); }
  storage::MemoryBudget* memory() override { return &operation_.memory(); }

 private:
  storage::OperationContext& operation_;
  const Environment& environment_;
};

/// Documents in memory, over and over.
class Rows final : public query::Stage {
 public:
  explicit Rows(const std::vector<Document>& rows) : rows_(rows) {}
  StatusWith<query::Next> next() override {
    return at_ < rows_.size() ? query::Next::of(rows_[at_++].view()) : query::Next::end();
  }
  std::string_view name() const override { return "rows"; }
  void serialize(bson::Builder&) const override {}

 private:
  const std::vector<Document>& rows_;
  size_t at_ = 0;
};

std::vector<Document> makeDocuments() {
  std::vector<Document> made;
  for (int i = 0; i < kDocuments; ++i)
    made.push_back(
        bson::doc("_id", i, "group", i % 97, "name", "customer " + std::to_string(i * 7919 % kDocuments), "amount",
                  (i * 31 % 1000) / 10.0, "tags",
                  std::vector<Document>{bson::doc("k", "colour", "v", i % 7), bson::doc("k", "size", "v", i % 11)},
                  "text", std::string(100, static_cast<char>('a' + i % 26))));
  return made;
}

/// Nanoseconds for each document; `work` null: there is no operation.
double nanosOf(const Document& stages, const std::vector<Document>& documents, query::QueryWork* work) {
  query::ParseContext parse;
  parse.work = work;
  auto pipeline = query::Pipeline::parse(stages["stages"].asArray(), {.parse = &parse});
  if (!pipeline.isOK()) throw bench::BenchError(pipeline.status().toString());
  (*pipeline)->attach(std::make_unique<Rows>(documents));
  const double from = bench::threadNanos();
  for (;;) {
    const auto next = (*pipeline)->next();
    if (!next.isOK()) throw bench::BenchError(next.status().toString());
    if (next->isEnd()) break;
  }
  return (bench::threadNanos() - from) / kDocuments;
}

struct Case {
  const char* work;
  const char* stages;
};

constexpr Case kCases[] = {
    {"Filter a document",
     R"([{"$match": {"amount": {"$gt": 50}, "tags.v": {"$in": [3, 5]}, "name": {"$regex": "9$"}}}])"},
    {"Evaluate expressions of a document",
     R"([{"$project": {"label": {"$concat": ["$name", " of ", {"$toString": "$group"}]},
         "sizes": {"$map": {"input": "$tags", "as": "t", "in": {"$multiply": ["$$t.v", "$amount"]}}},
         "sum": {"$reduce": {"input": "$tags.v", "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}},
         "kind": {"$cond": [{"$gt": ["$amount", 50]}, "large", "small"]}}}])"},
    {"Group a document",
     R"([{"$group": {"_id": "$group", "n": {"$sum": 1}, "all": {"$push": "$amount"}, "most": {"$max": "$name"}}},
         {"$sort": {"n": -1, "_id": 1}}])"},
    {"Unwind and sort a document", R"([{"$unwind": "$tags"}, {"$sort": {"name": 1, "tags.v": -1}}])"},
    {"Window over a document",
     R"([{"$setWindowFields": {"partitionBy": "$group", "sortBy": {"_id": 1},
         "output": {"last": {"$avg": "$amount", "window": {"documents": [-5, 0]}}}}}])"},
};

}  // namespace

int main() {
  return bench::run([] {
    auto engine = storage::DeterministicEngine::open({});
    storage::SessionPool pool(*engine);
    const std::atomic<int64_t> ofAll{int64_t{1} << 30}, ofEach{int64_t{1} << 28};
    storage::MemoryGovernor memory(ofAll, ofEach);
    storage::OperationContext operation({.sessions = pool, .memory = &memory});
    const std::function<bool()> isGone = [] { return false; };
    operation.watchClient(&isGone);
    const auto environment = makeRealEnvironment();
    operation.setDeadline(environment->now() + std::chrono::hours(1));
    Work work(operation, *environment);
    const auto documents = makeDocuments();
    for (const Case& one : kCases) {
      const Document stages = *bson::fromJson("{\"stages\": " + std::string(one.stages) + "}");
      std::vector<double> limited, free;
      for (int round = 0; round < 2 * kRounds; ++round) {  // the second of two finds warm caches
        const bool isLimited = round % 4 == 0 || round % 4 == 3;
        const double nanos = nanosOf(stages, documents, isLimited ? &work : nullptr);
        (isLimited ? limited : free).push_back(nanos);
      }
      bench::report({.work = one.work,
                     .against = "the same without budget and interrupt checks",
                     .unit = "ns of processor time",
                     .troupe = bench::median(limited),
                     .reference = bench::median(free),
                     .ceiling = kMost});
    }
  });
}
