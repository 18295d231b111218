#include "storage/keys/key_component.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "storage/keys/key_string.hpp"

namespace troupe::storage::key_string {
namespace {

using bson::operator""_json;

/// Values of all types, as the array "a".
const bson::Document& values() {
  static const bson::Document all = [] {
    const bson::Document most = R"({"a": [
      1, 255, 256, -1, -70000, 0, 0.5, -0.25, 2.5, -2.5, {"$numberLong": "9223372036854775807"}, {"$numberLong": "-9223372036854775808"},
      1e300, -1e300, {"$numberDecimal": "0.1"}, {"$numberDecimal": "-12345678901234567890.1"}, {"$numberDecimal": "3.3"},
      {"$numberDouble": "NaN"}, {"$numberDouble": "Infinity"}, {"$numberDouble": "-Infinity"},
      "", "abc", "a\u0000b", "a\u0000", {}, {"x": 1, "y": {"z": ["p", {"q": null}]}}, [], [1, [2, "x"], {}], null, true, false,
      {"$minKey": 1}, {"$maxKey": 1}, {"$undefined": true}, {"$oid": "0123456789abcdef01234567"},
      {"$binary": {"base64": "AAECAw==", "subType": "00"}}, {"$date": {"$numberLong": "-5"}}, {"$timestamp": {"t": 7, "i": 8}},
      {"$regularExpression": {"pattern": "^a", "options": "i"}}]})"_json;
    bson::Builder out;
    out.openArray("a");
    for (const auto& e : most["a"].asArray()) out.push(e);
    out.push(bson::Code{"f"}).push(bson::DBPointer{"d.c", {}});
    return out.close().finish();
  }();
  return all;
}

TEST(KeyComponents, HaveTheSizeTheyWereWrittenWith) {
  for (const uint32_t mask : {0U, 1U, 2U, 3U}) {
    for (const auto& first : values()["a"].asArray()) {
      for (const auto& second : values()["a"].asArray()) {
        Builder alone{Ordering(mask)}, both{Ordering(mask)};
        const size_t size = alone.append(first).bytes().size() - 1;
        const std::string_view key = both.append(first).append(second).bytes();
        ASSERT_EQ(componentSize(key, mask & 1), size) << bson::toRelaxedJson(first) << bson::toRelaxedJson(second);
        ASSERT_EQ(componentSize(key.substr(size), mask & 2), key.size() - size - 1) << bson::toRelaxedJson(second);
      }
    }
  }
}

TEST(KeyComponents, EndAtTheEndByteAndNeverBeyondCutBytes) {
  EXPECT_EQ(componentSize("\x04", false), 0u);
  EXPECT_EQ(componentSize("", false), 0u);
  for (const auto& value : values()["a"].asArray()) {
    Builder builder;
    const std::string_view key = builder.append(value).bytes();
    for (size_t size = 0; size + 1 < key.size(); ++size) {
      EXPECT_LE(componentSize(key.substr(0, size), false), size) << bson::toRelaxedJson(value);
    }
  }
}

TEST(KeyComponents, OrderAsTheKeysThatHoldThem) {
  for (const uint32_t mask : {0U, 1U}) {
    for (const auto& a : values()["a"].asArray()) {
      for (const auto& b : values()["a"].asArray()) {
        Builder one{Ordering(mask)}, other{Ordering(mask)};
        const std::string_view x = one.append(a).bytes(), y = other.append(b).bytes();
        ASSERT_EQ(compareComponents(x.substr(0, x.size() - 1), y.substr(0, y.size() - 1)), compare(x, y))
            << bson::toRelaxedJson(a) << " " << bson::toRelaxedJson(b);
      }
    }
  }
}

}  // namespace
}  // namespace troupe::storage::key_string
