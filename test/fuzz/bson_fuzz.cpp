// Bytes as a client might send them: what the validator accepts must be safe to walk, compare, hash and show.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/validate.hpp"

using namespace troupe::bson;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto length = validate(bytes);
  const bool strict = validate(bytes, {.checkUtf8 = true}).isOK();
  if (!length.isOK()) {
    if (strict) std::abort();  // UTF-8 can only be refused on top
    return 0;
  }
  const View document(bytes.data());
  if (compareDocuments(document, document) != 0) std::abort();
  volatile uint64_t hash = 0;
  for (const Element& e : document) hash = hash ^ hashValue(e);
  Builder copy;
  copy.appendAll(document);
  if (!(copy.finish().view() == document)) std::abort();
  toCanonicalJson(document);
  return 0;
}
