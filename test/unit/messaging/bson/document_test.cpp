#include "messaging/bson/document.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"

namespace troupe::bson {

TEST(Document, ANullPointerIsANullOfBson) {
  EXPECT_EQ(toRelaxedJson(doc("a", nullptr, "b", 1)), R"({ "a" : null, "b" : 1 })");
}

}  // namespace troupe::bson
