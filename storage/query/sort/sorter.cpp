#include "storage/query/sort/sorter.hpp"

#include <algorithm>
#include <cstring>
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
    heads_.reserve(runs_.size());
    for (size_t i = 0; i < runs_.size(); ++i) TROUPE_TRY(advance(i));
    return Status::OK();
  }

  StatusWith<std::optional<Item>> next() override {
    if (options_.limit && given_ == options_.limit) return std::optional<Item>();
    if (!file_) {
      if (given_ == entries_.size()) return std::optional<Item>();
      Entry& entry = entries_[given_++];
      return std::optional<Item>(Item{std::move(entry.key), std::move(entry.payload)});
    }
    if (heads_.empty()) return std::optional<Item>();
    std::pop_heap(heads_.begin(), heads_.end(), later);
    Head head = std::move(heads_.back());
    heads_.pop_back();
    TROUPE_TRY(advance(head.run));
    ++given_;
    return std::optional<Item>(std::move(head.item));
  }

  const SorterStats& stats() const override { return stats_; }

 private:
  struct Head {
    Item item;
    size_t run;
  };
  /// Earlier runs hold earlier arrivals, so that the run decides among equal keys.
  static bool later(const Head& a, const Head& b) {
    const int by = a.item.key.compare(b.item.key);
    return by ? by > 0 : a.run > b.run;
  }

  void push(Entry entry) {
    memory_ += entry.cost();
    stats_.memoryPeak = std::max<uint64_t>(stats_.memoryPeak, memory_);
    entries_.push_back(std::move(entry));
  }

  Status sortHeld() {
    return sortStably(entries_, options_.work, [](const Entry& a, const Entry& b) { return a < b; });
  }

  Status advance(size_t run) {
    Head head{{}, run};
    TROUPE_ASSIGN(const bool more, runs_[run].next(head.item));
    if (!more) return Status::OK();
    heads_.push_back(std::move(head));
    std::push_heap(heads_.begin(), heads_.end(), later);
    return Status::OK();
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
    const uint64_t begin = stats_.spilledBytes;
    std::string block;
    for (const auto& entry : entries_) {
      const uint32_t sizes[2] = {static_cast<uint32_t>(entry.key.size()), static_cast<uint32_t>(entry.payload.size())};
      block.append(reinterpret_cast<const char*>(sizes), sizeof sizes).append(entry.key).append(entry.payload);
      if (block.size() < kReadBytes) continue;
      TROUPE_TRY(write(block));
    }
    TROUPE_TRY(write(block));
    runs_.emplace_back(*file_, begin, stats_.spilledBytes);
    ++stats_.spills;
    entries_.clear();
    memory_ = 0;
    heap_ = false;
    return held_.set(0);
  }

  Status write(std::string& block) {
    TROUPE_TRY(file_->write(block));
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
  std::unique_ptr<SpillFile> file_;
  std::vector<Run> runs_;
  std::vector<Head> heads_;
  uint64_t given_ = 0;
};

}  // namespace

std::unique_ptr<Sorter> Sorter::make(SorterOptions options) {
  return std::make_unique<SpillingSorter>(std::move(options));
}

}  // namespace troupe::query
