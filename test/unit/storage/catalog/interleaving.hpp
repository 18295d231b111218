#pragma once
#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace troupe::storage {

/// Runs a reader and a writer, each on a thread of its own but only one at a time, in a given order of their steps:
/// "RWWR..." gives the reader one step, then the writer two, and so on. Steps left when the order ends run to their
/// end, the writer first. No sleeps, no luck: the same order gives the same run.
class Interleaving {
 public:
  explicit Interleaving(std::string order) : order_(std::move(order)) {}

  void run(const std::function<void()>& reader, const std::function<void()>& writer) {
    std::array<std::thread, 2> threads{std::thread([&] { live('R', reader); }),
                                       std::thread([&] { live('W', writer); })};
    for (auto& thread : threads) thread.join();
  }
  /// The end of a step of the calling thread; other threads than those of `run` pass.
  void stepDone() {
    const char me = self();
    if (me == 0) return;
    std::unique_lock lock(mutex_);
    if (position_ < order_.size()) ++position_;
    moved_.notify_all();
    moved_.wait(lock, [&] { return turn() == me; });
  }

  /// All orders of `reads` and `writes` steps.
  static std::vector<std::string> orders(int reads, int writes) {
    if (reads == 0 && writes == 0) return {""};
    std::vector<std::string> all;
    const auto append = [&](char first, const std::vector<std::string>& rest) {
      for (const auto& each : rest) all.push_back(first + each);
    };
    if (reads > 0) append('R', orders(reads - 1, writes));
    if (writes > 0) append('W', orders(reads, writes - 1));
    return all;
  }

 private:
  static char& self() {
    thread_local char name = 0;
    return name;
  }
  void live(char name, const std::function<void()>& body) {
    self() = name;
    {
      std::unique_lock lock(mutex_);
      moved_.wait(lock, [&] { return turn() == name; });
    }
    body();
    std::lock_guard lock(mutex_);
    (name == 'R' ? readerDone_ : writerDone_) = true;
    if (position_ < order_.size()) ++position_;
    moved_.notify_all();
  }
  char turn() {
    while (position_ < order_.size() && (order_[position_] == 'R' ? readerDone_ : writerDone_)) ++position_;
    if (position_ < order_.size()) return order_[position_];
    return writerDone_ ? 'R' : 'W';
  }

  const std::string order_;
  size_t position_ = 0;
  bool readerDone_ = false, writerDone_ = false;
  std::mutex mutex_;
  std::condition_variable moved_;
};

}  // namespace troupe::storage
