#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/commitment.hpp"

namespace troupe::model {
namespace {

TEST(Commitment, OutlivesEveryChangeOfThePrimary) {  // REP-043, 046, 047
  const Report report = check(commitment::replicas({.terms = 2, .entries = 2, .writes = 0}));
  EXPECT_TRUE(report.clean()) << report;
}

}  // namespace
}  // namespace troupe::model
