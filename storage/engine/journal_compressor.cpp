#include "storage/engine/journal_compressor.hpp"

#include <snappy-c.h>
#include <wiredtiger_ext.h>

#include <boost/endian/conversion.hpp>

namespace {

/// Before the compressed bytes stands how many they are: the engine pads records, and snappy wants the exact length.
constexpr size_t kPrefix = sizeof(uint64_t);

char* chars(uint8_t* bytes) { return reinterpret_cast<char*>(bytes); }

int preSize(WT_COMPRESSOR*, WT_SESSION*, uint8_t*, size_t size, size_t* needed) {
  *needed = snappy_max_compressed_length(size) + kPrefix;
  return 0;
}

int compress(WT_COMPRESSOR*, WT_SESSION*, uint8_t* from, size_t size, uint8_t* to, size_t room, size_t* written,
             int* failed) {
  *failed = 1;  // the engine then keeps the record as it is
  if (size < troupe::storage::kShortestCompressed || room < kPrefix) return 0;
  size_t length = room - kPrefix;
  if (snappy_compress(chars(from), size, chars(to + kPrefix), &length) != SNAPPY_OK) return 0;
  if (length + kPrefix >= size) return 0;
  boost::endian::store_little_u64(to, length);
  *written = length + kPrefix;
  *failed = 0;
  return 0;
}

int decompress(WT_COMPRESSOR*, WT_SESSION*, uint8_t* from, size_t size, uint8_t* to, size_t room, size_t* written) {
  if (size < kPrefix) return WT_ERROR;
  const uint64_t length = boost::endian::load_little_u64(from);
  if (length > size - kPrefix) return WT_ERROR;
  *written = room;
  return snappy_uncompress(chars(from + kPrefix), length, chars(to), written) == SNAPPY_OK ? 0 : WT_ERROR;
}

WT_COMPRESSOR journalCompressor = {compress, decompress, preSize, nullptr};  // the engine keeps a pointer to it

}  // namespace

int troupe_journal_compressor(WT_CONNECTION* connection, WT_CONFIG_ARG*) {
  return connection->add_compressor(connection, troupe::storage::kJournalCompressor, &journalCompressor, nullptr);
}
