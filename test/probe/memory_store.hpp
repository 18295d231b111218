#pragma once
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/ask.hpp"
#include "actors/kernel/future.hpp"
#include "actors/machines/document_store.hpp"
#include "actors/machines/instance_name.hpp"

namespace troupe::probe {

/// A store of state documents in memory, which a test makes slow or faulty. Its documents survive the actors that
/// wrote it, as on a disk. For one thread.
class MemoryStore final : public machines::DocumentStore {
 public:
  /// A write as it arrived; it counts when it is released (at once, unless writes are held).
  struct Write {
    std::string name;
    bson::Document document;  ///< empty: removed
    machines::Durability durability;
  };

  void serveIn(int64_t term) override { term_ = term; }
  int64_t term() const { return term_; }  ///< that of its service; 0 before one was told

  Task<Status> put(bson::Document document, machines::Durability durability) override {
    std::string name = machines::instanceNameOf(machines::keyOfDocument(document, kNoId));
    return write({std::move(name), std::move(document), durability});
  }
  Task<Status> remove(bson::Document key, machines::Durability durability) override {
    return write({machines::instanceNameOf(key), {}, durability});
  }
  Task<StatusWith<std::optional<bson::Document>>> find(bson::Document key) override {
    if (Status failure = nextFailure(); !failure.isOK()) co_return failure;
    const auto found = documents_.find(machines::instanceNameOf(key));
    if (found == documents_.end()) co_return std::optional<bson::Document>();
    co_return std::optional(found->second);
  }
  Task<StatusWith<machines::DocumentBatch>> load(int64_t from, size_t limit) override {
    if (slowness_.by > Duration::zero()) co_await slowness_.pass();
    if (Status failure = nextFailure(); !failure.isOK()) co_return failure;
    machines::DocumentBatch batch;
    int64_t place = 0;
    for (const auto& [name, document] : documents_) {
      if (place++ < from) continue;
      if (batch.documents.size() == limit) co_return batch;
      batch.documents.push_back(document);
      batch.next = place;
    }
    batch.last = true;
    co_return batch;
  }

  /// Writes wait from now on, until `release`.
  void hold() { held_ = true; }
  /// Lets all waiting writes and those to come through.
  void release() {
    held_ = false;
    for (auto& waiting : std::exchange(waiting_, {})) waiting.set(Done{});
  }
  /// Every write, and every batch that is loaded, takes so long from now on, on the clock of that environment.
  void delay(Environment& environment, Duration by) { slowness_ = {&environment, by}; }
  /// The next access fails so; several are queued.
  void failNext(Status failure) { failures_.push_back(std::move(failure)); }
  /// Writes that are lost with the node: waiting ones never come through.
  void crash() {
    waiting_.clear();
    held_ = false;
  }

  const std::map<std::string, bson::Document>& documents() const { return documents_; }
  void set(bson::Document document) {
    std::string name = machines::instanceNameOf(machines::keyOfDocument(document, kNoId));
    documents_[std::move(name)] = std::move(document);
  }
  void erase(const std::string& name) { documents_.erase(name); }
  /// Every write that came through, in order.
  const std::vector<Write>& writes() const { return writes_; }
  size_t waitingWrites() const { return waiting_.size(); }

 private:
  int64_t term_ = 0;
  static constexpr const char* kNoId = "document";

  Task<Status> write(Write write) {
    if (held_) {
      auto turn = waiting_.emplace_back().future();
      co_await turn;
    }
    if (slowness_.by > Duration::zero()) co_await slowness_.pass();
    if (Status failure = nextFailure(); !failure.isOK()) co_return failure;
    if (write.document.empty()) documents_.erase(write.name);
    else documents_[write.name] = write.document;
    writes_.push_back(std::move(write));
    co_return Status::OK();
  }
  Status nextFailure() {
    if (failures_.empty()) return Status::OK();
    Status failure = std::move(failures_.front());
    failures_.pop_front();
    return failure;
  }

  struct Slowness {
    Environment* clock = nullptr;
    Duration by{};
    Future<Done> pass() const { return sleepUntil(*clock, clock->now() + by); }
  };

  bool held_ = false;
  Slowness slowness_;
  std::deque<Promise<Done>> waiting_;
  std::deque<Status> failures_;
  std::map<std::string, bson::Document> documents_;
  std::vector<Write> writes_;
};

}  // namespace troupe::probe
