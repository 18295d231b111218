#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/index/key_generator.hpp"

namespace troupe::storage {

/// Keys of a unique index under construction that another record seemed to have when they were written. Whether two
/// records do counts when the build commits, so these keys are looked at again then. Each is kept once, up to a limit;
/// past it none is, and the commit looks at all keys of the index. Thread-safe: the scan of the build notes keys, and
/// so do writers beside it.
class SuspectedKeys {
 public:
  static constexpr size_t kMostBytes = size_t{1} << 20;

  void note(const IndexKey& key);
  /// What the keys hold in memory.
  size_t bytes() const;
  /// Keeps no keys any more: all of the index are suspected.
  void suspectAll();
  /// Sorted; nothing where all are suspected.
  std::optional<std::vector<IndexKey>> keys() const;
  /// The build is over.
  void clear();

 private:
  void drop();
  mutable std::mutex mutex_;
  std::map<std::string, std::string> keys_;  ///< key string -> type bits of one of the records
  size_t bytes_ = 0;
  bool all_ = false;
};

}  // namespace troupe::storage
