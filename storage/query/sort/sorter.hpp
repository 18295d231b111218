#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::query {

class QueryWork;

/// Where a sorter puts the sorted runs that do not fit in memory, one after the other.
class SpillFile {
 public:
  virtual ~SpillFile() = default;
  /// Appends.
  virtual Status write(std::string_view bytes) = 0;
  /// Reads up to `size` bytes from `offset`; fewer only at the end.
  virtual StatusWith<std::string> read(uint64_t offset, size_t size) = 0;
};
/// Makes an empty temporary file that vanishes with its object.
using SpillFileFactory = std::function<StatusWith<std::unique_ptr<SpillFile>>()>;

/// Unlinked temporary files in `directory` (created when absent).
SpillFileFactory spillToDirectory(std::string directory);

struct SorterOptions {
  uint64_t limit = 0;                      ///< keep only the first so many; 0 keeps all
  size_t memoryBytes = size_t{100} << 20;  ///< keys and payloads held at once
  SpillFileFactory spill;                  ///< empty: no disk use
  QueryWork* work = nullptr;               ///< its budget counts what is held, its interrupts end sorting; null: none
};

struct SorterStats {
  uint64_t added = 0;
  uint64_t spills = 0;
  uint64_t spilledBytes = 0;
  uint64_t memoryPeak = 0;
};

/// Sorts (key, payload) pairs by memcmp of the key, stably: equal keys come out in the order they were added. With a
/// limit it holds only the best so many. Past the memory limit it spills sorted runs and merges them. One thread.
class Sorter {
 public:
  struct Item {
    std::string key;
    std::string payload;
  };

  static std::unique_ptr<Sorter> make(SorterOptions options);
  virtual ~Sorter() = default;

  /// Errors: QueryExceededMemoryLimitNoDiskUseAllowed (292), ExceededMemoryLimit (146: the operation's budget is used
  /// up and there is no disk use), OutOfDiskSpace, FileNotOpen, those of an interrupt.
  virtual Status add(std::string key, std::string payload) = 0;
  /// Ends adding. Then next() gives items in order until it gives none.
  virtual Status done() = 0;
  virtual StatusWith<std::optional<Item>> next() = 0;
  virtual const SorterStats& stats() const = 0;
};

}  // namespace troupe::query
