#include "storage/records/record_id.hpp"

#include <functional>

namespace troupe::storage {

namespace {

constexpr size_t kMaxLengthBytes = 4;
constexpr uint8_t kMore = 0x80;

}  // namespace

bson::Value RecordId::toValue() const {
  return isBytes() ? bson::Value(bson::Binary{bson::kBinaryGeneric, bytes_}) : bson::Value(number_);
}

std::string RecordId::toString() const {
  if (!isBytes()) return std::to_string(number_);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes_) {
    const auto byte = static_cast<uint8_t>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

uint64_t RecordId::hash() const {
  return isBytes() ? std::hash<std::string_view>{}(bytes_) : static_cast<uint64_t>(number_) * 0x9E3779B97F4A7C15ull;
}

void appendRecordId(std::string& row, const RecordId& id) {
  row.append(RecordKey(id));
  if (!id.isBytes()) return;
  char length[kMaxLengthBytes];
  size_t at = kMaxLengthBytes;
  size_t rest = id.bytes().size();
  do {
    length[--at] = static_cast<char>(rest & 0x7F);
    rest >>= 7;
  } while (rest > 0 && at > 0);
  // All bytes but the leftmost say that there is one more to their left.
  for (size_t i = at + 1; i < kMaxLengthBytes; ++i)
    length[i] = static_cast<char>(static_cast<uint8_t>(length[i]) | kMore);
  row.append(length + at, kMaxLengthBytes - at);
}

bool splitIndexRow(std::string_view row, RecordIds kind, std::string_view& key, std::string_view& id) {
  size_t length = RecordKey::kNumberSize;
  size_t end = row.size();
  if (kind == RecordIds::kBytes) {
    length = 0;
    for (size_t i = 0;; ++i) {
      if (end == 0 || i == kMaxLengthBytes) return false;
      const auto byte = static_cast<uint8_t>(row[--end]);
      length |= size_t{byte & 0x7Fu} << 7 * i;
      if (!(byte & kMore)) break;
    }
    if (length == 0) return false;
  }
  if (end <= length) return false;  // the key is never empty
  key = row.substr(0, end - length);
  id = row.substr(end - length, length);
  return true;
}

}  // namespace troupe::storage
