#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/block_format.hpp"
#include "storage/engine/engine.hpp"
#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

/// A file that is read past the page cache where its file system allows it: what counts is on the disk, and pages that
/// clients use stay in memory. One thread at a time.
class DirectFile {
 public:
  DirectFile() = default;
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  Status open(const std::string& path);
  bool isOpen() const { return fd_ >= 0; }
  /// Up to `size` bytes; fewer where the file ends.
  StatusWith<std::string> read(int64_t offset, int64_t size);

 private:
  int fd_ = -1;
  bool direct_ = true;
  std::string path_;
  std::unique_ptr<char, void (*)(void*)> buffer_{nullptr, nullptr};  ///< aligned for direct reads
  size_t capacity_ = 0;
};

/// Walks the tree of pages of a table's last checkpoint. The engine overwrites no block of the last checkpoint before
/// the next one is complete and in the metadata. So a block that is not as expected is damaged if the checkpoint is
/// still the same afterwards; otherwise the walk goes on in the newer one, from the key it had come to.
class WiredTigerBlockCheck final : public BlockCheck {
 public:
  WiredTigerBlockCheck(std::shared_ptr<WiredTigerConnection> connection, std::string_view ident);

  StatusWith<bool> step(int64_t bytes) override;
  int64_t bytesRead() const override { return bytesRead_; }
  int64_t blocksRead() const override { return blocksRead_; }

 private:
  /// An internal page on the way to the place of the walk.
  struct Level {
    std::vector<BlockReference> references;
    size_t next = 0;
  };
  enum class Source { kGone, kSame, kNew };

  Status open();
  StatusWith<Source> loadCheckpoint();
  Status beginWalk();
  Status nextReference();
  /// Reads a block; with `enter` its references become the next level of the walk.
  Status check(const BlockAddress& address, bool enter);
  StatusWith<std::vector<BlockReference>> readReferences(const BlockAddress& address);
  StatusWith<std::string> readBlock(const BlockAddress& address);
  Status describe(const Status& finding) const;

  std::shared_ptr<WiredTigerConnection> connection_;
  const std::string ident_;
  DirectFile file_;
  std::string checkpoint_;  ///< address of the checkpoint that is walked; empty: none was loaded yet
  int64_t unit_ = 0;
  BlockCompression compression_ = BlockCompression::kNone;
  std::vector<Level> walk_;
  bool begun_ = false;   ///< the walk of that checkpoint
  std::string reached_;  ///< all rows with smaller keys have been checked
  BlockAddress current_;
  int64_t bytesRead_ = 0;
  int64_t blocksRead_ = 0;
};

}  // namespace troupe::storage
