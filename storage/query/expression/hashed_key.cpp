#include "storage/query/expression/hashed_key.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "messaging/auth/md5.hpp"
#include "messaging/bson/compare.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::query {

namespace {

template <class T>
void addNumber(auth::Md5& digest, T number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  digest.add({bytes, sizeof bytes});
}

void addValue(auth::Md5& digest, const bson::Element& e, bool withName) {
  addNumber(digest, static_cast<int32_t>(bson::canonicalRank(e.type())));
  if (withName) {
    digest.add(e.name());
    digest.add({"\0", 1});
  }
  if (e.isNumber()) {
    addNumber(digest, std::isnan(e.toDouble()) ? int64_t{0} : e.toInt64());
  } else if (e.isObjectLike()) {
    for (const bson::Element& field : e.asDocument()) addValue(digest, field, true);
    addNumber(digest, int32_t{0});
  } else {
    digest.add(e.valueBytes());
  }
}

}  // namespace

int64_t hashedIndexKey(const bson::Element& value) {
  auth::Md5 digest;
  addNumber(digest, int32_t{0});  // the seed
  addValue(digest, value, false);
  const std::string digits = digest.finish();
  uint64_t key = 0;
  for (size_t byte = 0; byte < sizeof key; ++byte) {  // the first eight, the lowest first
    uint64_t part = 0;
    std::from_chars(digits.data() + 2 * byte, digits.data() + 2 * byte + 2, part, 16);
    key |= part << (8 * byte);
  }
  return static_cast<int64_t>(key);
}

}  // namespace troupe::query
