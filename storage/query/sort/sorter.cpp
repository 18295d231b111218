#include "storage/query/sort/sorter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "storage/query/interruptible_sort.hpp"

namespace troupe::query {
namespace {

/// Memory of an item beside its bytes.
constexpr size_t kItemOverhead = 80;
/// Read-ahead of one run while merging.
constexpr size_t kReadBytes = 64 * 1024;
/// Runs are at least so large, whatever is left of the operation's budget: each of them is read through a buffer.
constexpr size_t kLeastRun = 512 * 1024;

struct Entry {
  std::string key;
  std::string payload;
  uint64_t order;  ///< of arrival, which decides among equal keys
  bool operator<(const Entry& other) const {
    const int by = key.compare(other.key);
    return by ? by < 0 : order < other.order;
  }
  size_t cost() const { return key.size() + payload.size() + kItemOverhead; }
};

/// A sorted stretch of the spill file, read front to back. A record: key size, payload size (4 bytes each), key,
/// payload.
class Run {
 public:
  Run(SpillFile& file, uint64_t begin, uint64_t end) : file_(&file), at_(begin), end_(end) {}
  /// Reads the next item into `item`; false at the end.
  StatusWith<bool> next(Sorter::Item& item) {
    if (at_ == end_ && used_ == buffer_.size()) return false;
    uint32_t sizes[2];
    TROUPE_TRY(have(sizeof sizes));
    std::memcpy(sizes, buffer_.data() + used_, sizeof sizes);
    used_ += sizeof sizes;
    TROUPE_TRY(have(size_t{sizes[0]} + sizes[1]));
    item.key.assign(buffer_, used_, sizes[0]);
    item.payload.assign(buffer_, used_ + sizes[0], sizes[1]);
    used_ += size_t{sizes[0]} + sizes[1];
    return true;
  }
  size_t memory() const { return buffer_.capacity(); }
  /// After the last item: gives the memory back.
  void close() {
    buffer_ = std::string();
    used_ = 0;
  }

 private:
  Status have(size_t bytes) {
    if (buffer_.size() - used_ >= bytes) return Status::OK();
    buffer_.erase(0, used_);
    used_ = 0;
    const size_t wanted = std::min<uint64_t>(std::max(kReadBytes, bytes - buffer_.size()), end_ - at_);
    TROUPE_ASSIGN(const auto more, file_->read(at_, wanted));
    at_ += more.size();
    buffer_ += more;
    if (buffer_.size() < bytes) return {ErrorCode::kFileNotOpen, "a spill file of a sort ends too early"};
    return Status::OK();
  }
  SpillFile* file_;
  uint64_t at_;
  uint64_t end_;
  std::string buffer_;
  size_t used_ = 0;
};

/// Several runs read side by side: the least item of all comes next. Earlier runs hold earlier arrivals, so that the
/// run decides among equal keys. Counts what it reads ahead.
class Merge {
 public:
  Merge(std::vector<Run> runs, QueryWork* work) : runs_(std::move(runs)), held_(work), work_(work) {}

  /// Before the first `next`. Errors, of both: ExceededMemoryLimit, those of an interrupt, FileNotOpen.
  Status open() {
    memory_.resize(runs_.size());
    heads_.reserve(runs_.size());
    for (size_t i = 0; i < runs_.size(); ++i) TROUPE_TRY(advance(i));
    return Status::OK();
  }
  /// Nothing at the end.
  StatusWith<std::optional<Sorter::Item>> next() {
    if (heads_.empty()) return std::optional<Sorter::Item>();
    std::pop_heap(heads_.begin(), heads_.end(), later);
    Head head = std::move(heads_.back());
    heads_.pop_back();
    TROUPE_TRY(advance(head.run));
    return std::optional<Sorter::Item>(std::move(head.item));
  }

  /// How many runs fit into `memory`, when no item is larger than `largest`: of each there are a buffer, which may have
  /// grown to twice its need, and an item.
  static size_t fitting(size_t memory, size_t largest) {
    return std::max<size_t>(2, memory / (2 * (kReadBytes + largest) + largest));
  }

 private:
  struct Head {
    Sorter::Item item;
    size_t run;
  };
  static bool later(const Head& a, const Head& b) {
    const int by = a.item.key.compare(b.item.key);
    return by ? by > 0 : a.run > b.run;
  }
  Status advance(size_t run) {
    Head head{{}, run};
    TROUPE_ASSIGN(const bool more, runs_[run].next(head.item));
    const size_t item = head.item.key.size() + head.item.payload.size();
    if (work_) TROUPE_TRY(work_->step(stepsFor(item) + stepsFor(head.item.key.size())));
    if (!more) runs_[run].close();
    const size_t now = more ? runs_[run].memory() + item : 0;
    bytes_ += static_cast<int64_t>(now) - static_cast<int64_t>(memory_[run]);
    memory_[run] = now;
    TROUPE_TRY(held_.set(bytes_));
    if (!more) return Status::OK();
    heads_.push_back(std::move(head));
    std::push_heap(heads_.begin(), heads_.end(), later);
    return Status::OK();
  }

  std::vector<Run> runs_;
  std::vector<size_t> memory_;  ///< of each run
  HeldMemory held_;
  int64_t bytes_ = 0;
  QueryWork* work_;
  std::vector<Head> heads_;
};

class SpillingSorter final : public Sorter {
 public:
  explicit SpillingSorter(SorterOptions options) : options_(std::move(options)), held_(options_.work) {
    if (options_.spill)
      options_.memoryBytes =
          static_cast<size_t>(spillingLimit(options_.work, static_cast<int64_t>(options_.memoryBytes)));
  }

  Status add(std::string key, std::string payload) override {
    Entry entry{std::move(key), std::move(payload), stats_.added++};
    if (options_.limit && entries_.size() >= options_.limit) {
      TROUPE_TRY(step(stepsFor(entry.key.size()) * static_cast<int64_t>(std::bit_width(entries_.size()))));
      if (!heap_) std::make_heap(entries_.begin(), entries_.end());
      heap_ = true;
      if (!(entry < entries_.front())) return Status::OK();
      std::pop_heap(entries_.begin(), entries_.end());
      memory_ -= entries_.back().cost();
      entries_.pop_back();
      push(std::move(entry));
      std::push_heap(entries_.begin(), entries_.end());
    } else {
      push(std::move(entry));
    }
    if (memory_ > options_.memoryBytes) return spill();
    Status held = held_.set(static_cast<int64_t>(memory_));
    if (held.isOK() || !options_.spill) return held;
    return memory_ < kLeastRun ? Status::OK() : spill();
  }

  Status done() override {
    if (!file_) return sortHeld();
    if (!entries_.empty()) TROUPE_TRY(spill());
    TROUPE_TRY(reduceRuns());
    merge_.emplace(std::move(runs_), options_.work);
    return merge_->open();
  }

  StatusWith<std::optional<Item>> next() override {
    if (options_.limit && given_ == options_.limit) return std::optional<Item>();
    if (!file_) {
      if (given_ == entries_.size()) return std::optional<Item>();
      Entry& entry = entries_[given_++];
      return std::optional<Item>(Item{std::move(entry.key), std::move(entry.payload)});
    }
    ++given_;
    return merge_->next();
  }

  const SorterStats& stats() const override { return stats_; }

 private:
  Status step(int64_t steps) { return options_.work ? options_.work->step(steps) : Status::OK(); }

  void push(Entry entry) {
    memory_ += entry.cost();
    stats_.memoryPeak = std::max<uint64_t>(stats_.memoryPeak, memory_);
    entries_.push_back(std::move(entry));
  }

  Status sortHeld() {
    const auto steps = [](const Entry& a, const Entry& b) { return stepsOfComparing(a.key.size(), b.key.size()); };
    return sortStably(
        entries_, options_.work, [](const Entry& a, const Entry& b) { return a < b; }, steps);
  }

  /// Merges neighbouring runs, into another file, until all that are left can be read side by side.
  Status reduceRuns() {
    const size_t most = Merge::fitting(options_.memoryBytes, largest_);
    while (runs_.size() > most) {
      TROUPE_ASSIGN(auto longer, options_.spill());
      const std::unique_ptr<SpillFile> shorter = std::exchange(file_, std::move(longer));
      fileBytes_ = 0;
      std::vector<Run> reduced;
      for (size_t first = 0; first < runs_.size(); first += most) {
        const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = runs_.begin() + static_cast<std::ptrdiff_t>(std::min(first + most, runs_.size()));
        Merge merge({std::make_move_iterator(begin), std::make_move_iterator(end)}, options_.work);
        TROUPE_TRY(merge.open());
        TROUPE_ASSIGN(const Run run, writeRun([&] { return merge.next(); }));
        reduced.push_back(run);
      }
      runs_ = std::move(reduced);
    }
    return Status::OK();
  }

  /// Writes the items that `next` gives, until it gives none, to the end of the file.
  template <class Next>
  StatusWith<Run> writeRun(const Next& next) {
    const uint64_t begin = fileBytes_;
    std::string block;
    while (true) {
      TROUPE_ASSIGN(const std::optional<Item> item, next());
      if (!item) break;
      const uint32_t sizes[2] = {static_cast<uint32_t>(item->key.size()), static_cast<uint32_t>(item->payload.size())};
      block.append(reinterpret_cast<const char*>(sizes), sizeof sizes).append(item->key).append(item->payload);
      TROUPE_TRY(step(stepsFor(item->key.size() + item->payload.size())));
      if (block.size() >= kReadBytes) TROUPE_TRY(write(block));
    }
    TROUPE_TRY(write(block));
    return Run(*file_, begin, fileBytes_);
  }

  Status spill() {
    if (!options_.spill)
      return {ErrorCode::kQueryExceededMemoryLimitNoDiskUseAllowed,
              "Sort exceeded memory limit of " + std::to_string(options_.memoryBytes) +
                  " bytes, but did not opt in to external sorting."};
    if (!file_) {
      TROUPE_ASSIGN(file_, options_.spill());
    }
    TROUPE_TRY(sortHeld());
    size_t at = 0;
    const auto next = [&]() -> StatusWith<std::optional<Item>> {
      if (at == entries_.size()) return std::optional<Item>();
      Entry& entry = entries_[at++];
      largest_ = std::max(largest_, entry.cost());
      return std::optional<Item>(Item{std::move(entry.key), std::move(entry.payload)});
    };
    TROUPE_ASSIGN(const Run run, writeRun(next));
    runs_.push_back(run);
    ++stats_.spills;
    entries_.clear();
    memory_ = 0;
    heap_ = false;
    return held_.set(0);
  }

  Status write(std::string& block) {
    TROUPE_TRY(file_->write(block));
    fileBytes_ += block.size();
    stats_.spilledBytes += block.size();
    block.clear();
    return Status::OK();
  }

  SorterOptions options_;
  SorterStats stats_;
  std::vector<Entry> entries_;
  bool heap_ = false;  ///< entries_ is a heap with the worst in front
  size_t memory_ = 0;
  HeldMemory held_;
  size_t largest_ = 0;  ///< of the items that were spilled
  std::unique_ptr<SpillFile> file_;
  uint64_t fileBytes_ = 0;  ///< of file_
  std::vector<Run> runs_;
  std::optional<Merge> merge_;
  uint64_t given_ = 0;
};

}  // namespace

std::unique_ptr<Sorter> Sorter::make(SorterOptions options) {
  return std::make_unique<SpillingSorter>(std::move(options));
}

}  // namespace troupe::query
