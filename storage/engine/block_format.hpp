#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

// The files of WiredTiger 3.2, as far as a check of their blocks needs it: addresses, checkpoints, pages. A file
// consists of blocks; a tree of pages lies in it whose internal pages hold the addresses of the pages below. Pure
// functions of bytes, which may be damaged: what cannot be understood is DataCorruptionDetected. Docs:
// docs/decisions/0018-checksums-and-scrubbing.md.

/// The place of a block in its file, and the checksum it must have: the address of a page within the page above. Its
/// checksum also finds a valid block that lies in the wrong place.
struct BlockAddress {
  int64_t offset = 0;
  int64_t size = 0;  ///< in bytes; zero: there is no block
  uint32_t checksum = 0;

  bool operator==(const BlockAddress&) const = default;
};

/// What the metadata say of a file's checkpoint.
struct CheckpointAddress {
  BlockAddress root;                  ///< of the tree; none: the table is empty
  std::vector<BlockAddress> extents;  ///< blocks with the lists of used and free space
};

enum class BlockCompression { kNone, kSnappy, kZlib };

/// The value "addr" of a checkpoint, in hexadecimal digits. `unit` is the file's allocation size in bytes.
StatusWith<CheckpointAddress> decodeCheckpoint(std::string_view hex, int64_t unit);

/// Checks the first allocation unit of a file, which says that it is one of WiredTiger's.
Status checkFileHeader(std::string& unit);

/// Compares a block as it was read with its address; the block is changed meanwhile.
Status checkBlock(std::string& block, const BlockAddress& address);

/// What hangs below an entry of a page.
struct BlockReference {
  enum class Kind {
    kInternal,  ///< a page with further references
    kLeaf,      ///< a page of rows, which may refer to overflow blocks
    kData,      ///< a page of rows without references, or an overflow block
  };
  Kind kind = Kind::kData;
  BlockAddress address;
  /// First key below it; none where it is not known. The leftmost reference of a page has none.
  std::optional<std::string> firstKey;
};

/// The references in a page that `checkBlock` has found sound, in key order.
StatusWith<std::vector<BlockReference>> referencesOf(std::string_view block, BlockCompression compression,
                                                     int64_t unit);

}  // namespace troupe::storage
