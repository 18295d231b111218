#include "storage/engine/block_format.hpp"

#include <snappy-c.h>
#include <wiredtiger.h>
#include <zlib.h>

#include <boost/algorithm/hex.hpp>
#include <boost/endian/conversion.hpp>
#include <iterator>

namespace troupe::storage {
namespace {

// A block begins with the header of its page, then comes that of the block; numbers are little-endian.
constexpr size_t kMemorySizeAt = 16;
constexpr size_t kEntriesAt = 20;
constexpr size_t kPageTypeAt = 24;
constexpr size_t kPageFlagsAt = 25;
constexpr size_t kDiskSizeAt = 28;
constexpr size_t kChecksumAt = 32;
constexpr size_t kBlockFlagsAt = 36;
constexpr size_t kHeaderBytes = 40;
/// Bytes at the start of a block that are never compressed; of a block without kWholeChecksum only they have a
/// checksum.
constexpr size_t kPlainBytes = 64;

constexpr uint8_t kCompressedPage = 0x01;
constexpr uint8_t kEncryptedPage = 0x08;
constexpr uint8_t kWholeChecksum = 0x01;
constexpr uint8_t kInternalPage = 6;
constexpr uint8_t kLeafPage = 7;
/// An internal page is a few KiB, a leaf page at most one document and some.
constexpr uint32_t kLargestPage = 256u << 20;

Status damaged(std::string what) { return {ErrorCode::kDataCorruptionDetected, std::move(what)}; }

uint8_t byteAt(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

uint32_t numberAt(std::string_view bytes, size_t at) {
  return boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(bytes.data()) + at);
}

/// A checksum is computed with zeros in its own place.
bool fitsChecksum(std::string& bytes, size_t covered, size_t at, uint32_t checksum) {
  static const auto crc32c = wiredtiger_crc32c_func();
  auto* const stored = reinterpret_cast<unsigned char*>(bytes.data()) + at;
  boost::endian::store_little_u32(stored, 0);
  const bool fits = crc32c(bytes.data(), covered) == checksum;
  boost::endian::store_little_u32(stored, checksum);
  return fits;
}

/// Reads a page's cells from the front; every read is bounded by the page.
class PageReader {
 public:
  PageReader(std::string_view bytes, int64_t unit) : left_(bytes), unit_(unit) {}

  StatusWith<uint8_t> byte() {
    if (left_.empty()) return damaged("it ends within an entry");
    const auto value = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    return value;
  }
  StatusWith<std::string_view> bytes(uint64_t size) {
    if (size > left_.size()) return damaged("an entry is longer than its page");
    const std::string_view value = left_.substr(0, size);
    left_.remove_prefix(size);
    return value;
  }
  /// A packed number: one byte up to 63, two up to 8255, else a length and big-endian bytes.
  StatusWith<uint64_t> number() {
    constexpr uint64_t kOneByteEnd = 64;
    constexpr uint64_t kTwoBytesEnd = kOneByteEnd + (1 << 13);
    TROUPE_ASSIGN(const uint8_t first, byte());
    if ((first & 0xc0) == 0x80) return uint64_t{first} & 0x3f;
    if ((first & 0xe0) == 0xc0) {
      TROUPE_ASSIGN(const uint8_t second, byte());
      return kOneByteEnd + ((uint64_t{first} & 0x1f) << 8 | second);
    }
    if ((first & 0xf0) != 0xe0 || (first & 0x0f) > sizeof(uint64_t)) return damaged("a number in it has no such form");
    uint64_t value = 0;
    for (int i = first & 0x0f; i > 0; --i) {
      TROUPE_ASSIGN(const uint8_t next, byte());
      value = value << 8 | next;
    }
    return value + kTwoBytesEnd;
  }
  /// Offsets count allocation units from the second on, sizes count units.
  StatusWith<BlockAddress> address() {
    TROUPE_ASSIGN(const uint64_t offset, number());
    TROUPE_ASSIGN(const uint64_t size, number());
    TROUPE_ASSIGN(const uint64_t checksum, number());
    if (size == 0) return BlockAddress{};
    if (unit_ <= 0) return damaged("its allocation unit is not known");
    if (offset > uint64_t{1} << 50 || size > kLargestPage / static_cast<uint64_t>(unit_))
      return damaged("an address in it is out of range");
    return BlockAddress{static_cast<int64_t>(offset + 1) * unit_, static_cast<int64_t>(size) * unit_,
                        static_cast<uint32_t>(checksum)};
  }

 private:
  std::string_view left_;
  int64_t unit_;
};

// A cell: a description byte, for some a second one with a window of times, then the length of its bytes and they.
// Short keys and values have their length within the description.
constexpr uint8_t kShortMask = 0x03;
constexpr uint8_t kShortKey = 0x01;
constexpr uint8_t kShortKeyWithPrefix = 0x02;
constexpr uint8_t kHasNumber = 0x04;
constexpr uint8_t kHasWindow = 0x08;
/// A length that does not fit into a description byte is stored less so much.
constexpr uint64_t kLengthOffset = 64;
constexpr int kWindowNumbers = 5;

enum class CellType : uint8_t {
  kDeletedAddress = 0x00,
  kInternalAddress = 0x10,
  kLeafAddress = 0x20,
  kPlainLeafAddress = 0x30,
  kDeleted = 0x40,
  kKey = 0x50,
  kOverflowKey = 0x60,
  kKeyWithPrefix = 0x70,
  kValue = 0x80,
  kValueCopy = 0x90,
  kOverflowValue = 0xa0,
  kRemovedOverflowValue = 0xb0,
  kRemovedOverflowKey = 0xc0,
};

struct Cell {
  CellType type = CellType::kKey;
  std::string_view bytes;
};

StatusWith<Cell> readCell(PageReader& page) {
  TROUPE_ASSIGN(const uint8_t description, page.byte());
  Cell cell;
  if ((description & kShortMask) != 0) {
    const uint8_t kind = description & kShortMask;
    if (kind == kShortKeyWithPrefix) TROUPE_TRY(page.byte().status());
    cell.type = kind == kShortKey || kind == kShortKeyWithPrefix ? CellType::kKey : CellType::kValue;
    TROUPE_ASSIGN(cell.bytes, page.bytes(description >> 2));
    return cell;
  }
  cell.type = static_cast<CellType>(description & 0xf0);
  if (cell.type > CellType::kRemovedOverflowKey) return damaged("an entry has no known type");
  if (cell.type == CellType::kKeyWithPrefix) TROUPE_TRY(page.byte().status());
  if ((description & kHasWindow) != 0) {
    TROUPE_ASSIGN(const uint8_t window, page.byte());
    for (int i = 0; i < kWindowNumbers; ++i)
      if ((window & (1 << i)) != 0) TROUPE_TRY(page.number().status());
  }
  if ((description & kHasNumber) != 0) TROUPE_TRY(page.number().status());
  if (cell.type == CellType::kDeleted) return cell;
  TROUPE_ASSIGN(uint64_t length, page.number());
  if (cell.type == CellType::kValueCopy) return cell;  // the number is the distance of the cell that has the value
  const bool plainValue = cell.type == CellType::kValue && (description & (kHasWindow | kHasNumber)) == 0;
  if (cell.type == CellType::kKey || cell.type == CellType::kKeyWithPrefix || plainValue) length += kLengthOffset;
  TROUPE_ASSIGN(cell.bytes, page.bytes(length));
  return cell;
}

bool inflateInto(std::string_view from, char* to, size_t size) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
  stream.avail_in = static_cast<uInt>(from.size());
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(size);
  const int code = inflate(&stream, Z_FINISH);
  const bool complete = code == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  return complete;
}

/// Snappy's bytes follow their number.
bool unsnapInto(std::string_view from, char* to, size_t size) {
  if (from.size() < sizeof(uint64_t)) return false;
  const uint64_t length = boost::endian::load_little_u64(reinterpret_cast<const unsigned char*>(from.data()));
  if (length > from.size() - sizeof(uint64_t)) return false;
  size_t written = size;
  return snappy_uncompress(from.data() + sizeof(uint64_t), length, to, &written) == SNAPPY_OK && written == size;
}

/// The page as it is in memory.
StatusWith<std::string> pageOf(std::string_view block, BlockCompression compression) {
  const uint32_t size = numberAt(block, kMemorySizeAt);
  const uint8_t flags = byteAt(block, kPageFlagsAt);
  if (size < kHeaderBytes || size > kLargestPage) return damaged("its page has no possible size");
  if ((flags & kEncryptedPage) != 0) return damaged("it says it is encrypted");
  if ((flags & kCompressedPage) == 0) {
    if (size > block.size()) return damaged("its page is larger than itself");
    return std::string(block.substr(0, size));
  }
  if (size < kPlainBytes || block.size() < kPlainBytes) return damaged("its page has no possible size");
  std::string page(size, '\0');
  page.replace(0, kPlainBytes, block.substr(0, kPlainBytes));
  const std::string_view rest = block.substr(kPlainBytes);
  char* to = page.data() + kPlainBytes;
  const bool done = compression == BlockCompression::kSnappy
                        ? unsnapInto(rest, to, size - kPlainBytes)
                        : compression == BlockCompression::kZlib && inflateInto(rest, to, size - kPlainBytes);
  if (!done) return damaged("it cannot be decompressed");
  return page;
}

/// The kind of an address cell; none for other cells.
std::optional<BlockReference::Kind> kindOf(CellType type) {
  using Kind = BlockReference::Kind;
  switch (type) {
    case CellType::kInternalAddress: return Kind::kInternal;
    case CellType::kLeafAddress: return Kind::kLeaf;
    case CellType::kDeletedAddress:
    case CellType::kPlainLeafAddress:
    case CellType::kOverflowKey:
    case CellType::kOverflowValue: return Kind::kData;
    default: return std::nullopt;
  }
}

}  // namespace

StatusWith<CheckpointAddress> decodeCheckpoint(std::string_view hex, int64_t unit) {
  std::string bytes;
  try {
    boost::algorithm::unhex(hex.begin(), hex.end(), std::back_inserter(bytes));
  } catch (const boost::algorithm::hex_decode_error&) {
    return damaged("the checkpoint's address has no such form");
  }
  PageReader reader(bytes, unit);
  TROUPE_ASSIGN(const uint8_t version, reader.byte());
  if (version != 1) return damaged("the checkpoint's address has an unknown version");
  CheckpointAddress result;
  TROUPE_ASSIGN(result.root, reader.address());
  for (int i = 0; i < 3; ++i) {
    TROUPE_ASSIGN(const BlockAddress extents, reader.address());
    if (extents.size > 0) result.extents.push_back(extents);
  }
  return result;
}

Status checkFileHeader(std::string& unit) {
  constexpr uint32_t kMagic = 120897;
  constexpr size_t kHeaderChecksumAt = 8;
  if (unit.size() < kPlainBytes || numberAt(unit, 0) != kMagic) return damaged("the file does not begin as it has to");
  const uint32_t checksum = numberAt(unit, kHeaderChecksumAt);
  return fitsChecksum(unit, unit.size(), kHeaderChecksumAt, checksum) ? Status::OK()
                                                                      : damaged("its bytes have another checksum");
}

Status checkBlock(std::string& block, const BlockAddress& address) {
  if (static_cast<int64_t>(block.size()) != address.size || block.size() < kPlainBytes)
    return damaged("the file ends before it");
  if (numberAt(block, kDiskSizeAt) != block.size() || numberAt(block, kChecksumAt) != address.checksum)
    return damaged("another block is in its place");
  const size_t covered = (byteAt(block, kBlockFlagsAt) & kWholeChecksum) != 0 ? block.size() : kPlainBytes;
  return fitsChecksum(block, covered, kChecksumAt, address.checksum) ? Status::OK()
                                                                     : damaged("its bytes have another checksum");
}

StatusWith<std::vector<BlockReference>> referencesOf(std::string_view block, BlockCompression compression,
                                                     int64_t unit) {
  TROUPE_ASSIGN(const std::string page, pageOf(block, compression));
  const uint8_t type = byteAt(page, kPageTypeAt);
  if (type != kInternalPage && type != kLeafPage) return damaged("its page is of another type");
  PageReader reader(std::string_view(page).substr(kHeaderBytes), unit);
  std::vector<BlockReference> references;
  std::optional<std::string> key;
  bool leftmost = true;
  for (uint32_t entries = numberAt(page, kEntriesAt); entries > 0; --entries) {
    TROUPE_ASSIGN(const Cell cell, readCell(reader));
    if (type == kInternalPage && cell.type == CellType::kKey) key = std::string(cell.bytes);
    const auto kind = kindOf(cell.type);
    if (!kind) continue;
    BlockReference reference{.kind = *kind, .address = {}, .firstKey = std::nullopt};
    TROUPE_ASSIGN(reference.address, PageReader(cell.bytes, unit).address());
    if (type == kInternalPage && cell.type != CellType::kOverflowKey) {
      if (!leftmost) reference.firstKey = std::move(key);
      key.reset();
      leftmost = false;
    }
    if (reference.address.size > 0) references.push_back(std::move(reference));
  }
  return references;
}

}  // namespace troupe::storage
