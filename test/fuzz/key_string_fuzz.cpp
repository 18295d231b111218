// First byte 0: the rest is a key as damaged storage might hold it, which decoding must survive. Else: the rest is a
// document whose values must come back from their key, in the directions the first byte names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/keys/key_string.hpp"

using namespace troupe;

namespace {

void decodeDamaged(std::string_view bytes) {
  const std::string_view typeBits = bytes.substr(bytes.size() - bytes.size() / 4);
  const auto decoded = storage::key_string::decode(bytes, typeBits, storage::Ordering(0b10));
  if (!decoded.isOK()) return;
  const bson::View values = decoded->element().asArray();
  if (!bson::validate(values.bytes(), {.maxSize = INT32_MAX, .maxDepth = 255}).isOK() && values.size() < 1000)
    std::abort();
}

void roundTrip(std::string_view bytes, uint8_t mask) {
  if (!bson::validate(bytes).isOK()) return;
  const bson::View document(bytes.data());
  if (document.count() > static_cast<int>(storage::key_string::kMaxFields)) return;
  const storage::Ordering ordering(mask);
  storage::key_string::Builder builder(ordering);
  for (const bson::Element& e : document) builder.append(e);
  builder.appendRecordId(42);
  const auto decoded = storage::key_string::decode(builder.bytes(), builder.typeBits(), ordering);
  if (!decoded.isOK()) std::abort();
  auto back = decoded->element().asArray().begin();
  for (const bson::Element& e : document) {
    if (bson::compareValues(e, *back++) != 0) std::abort();
  }
  if (storage::key_string::recordIdAtEnd(builder.bytes()) != 42) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 0) decodeDamaged(rest);
  else roundTrip(rest, data[0]);
  return 0;
}
