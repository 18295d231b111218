#include "messaging/description/fingerprint.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "test/unit/messaging/description/sample.hpp"

namespace troupe::machines {
namespace {

using namespace sample;

template <class T>
std::string fingerprint(const T& value) {
  std::string out;
  appendFingerprint(out, value);
  return out;
}

RC_GTEST_PROP(Fingerprint, IsEqualExactlyForTheSameDocument, ()) {
  const Everything a = *arbitraryEverything(), b = *arbitraryEverything();
  RC_ASSERT(sameValue(a, a));
  RC_ASSERT(sameValue(a, Everything(a)));
  RC_ASSERT(sameValue(a, b) == (toBson(a) == toBson(b)));
}

/// Two small values that often are the same, so that both answers occur.
RC_GTEST_PROP(Fingerprint, IsEqualExactlyForTheSameSmallValue, ()) {
  const auto small = [] {
    return std::vector<Event>(some([]() -> Event {
      switch (*rc::gen::inRange(0, 3)) {
        case 0: return Drained{};
        case 1: return Point{*rc::gen::inRange(0, 2), *rc::gen::inRange<int64_t>(127, 130)};
        default: return Refused{Status(), maybe([] { return Point{*rc::gen::inRange(0, 2), 0}; })};
      }
    }));
  };
  Everything a, b;
  a.events = small();
  b.events = small();
  RC_CLASSIFY(toBson(a) == toBson(b), "the same");
  RC_ASSERT(sameValue(a, b) == (toBson(a) == toBson(b)));
}

TEST(Fingerprint, TellsNeighbouringTextsApart) {
  EXPECT_NE(fingerprint(std::vector<std::string>{"a", "bc"}), fingerprint(std::vector<std::string>{"ab", "c"}));
  EXPECT_NE(fingerprint(std::vector<std::string>{""}), fingerprint(std::vector<std::string>{}));
  EXPECT_NE(fingerprint(std::optional<int>()), fingerprint(std::optional<int>(0)));
  EXPECT_NE(fingerprint(std::vector<std::vector<int>>{{}, {1}}), fingerprint(std::vector<std::vector<int>>{{1}, {}}));
}

TEST(Fingerprint, TakesEveryNaNAsOneAndTellsZerosApart) {
  EXPECT_EQ(fingerprint(std::numeric_limits<double>::quiet_NaN()),
            fingerprint(-std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NE(fingerprint(0.0), fingerprint(-0.0));
}

TEST(Fingerprint, TellsFailuresApartByAllTheyCarry) {
  const auto failure = [](const char* reason, const bson::Document& extra) {
    return fingerprint(Status(ErrorCode::kDuplicateKey, reason, extra));
  };
  EXPECT_EQ(failure("twice", bson::doc("a", 1)), failure("twice", bson::doc("a", 1)));
  EXPECT_NE(failure("twice", bson::doc("a", 1)), failure("twice", bson::doc("a", 2)));
  EXPECT_NE(failure("twice", bson::doc("a", 1)), failure("again", bson::doc("a", 1)));
  EXPECT_NE(fingerprint(Status()), fingerprint(Status(ErrorCode::kDuplicateKey, "")));
}

TEST(Fingerprint, IsShort) {
  EXPECT_EQ(fingerprint(Drained{}).size(), 0u);
  EXPECT_EQ(fingerprint(Point{1, -1}).size(), 2u);
  EXPECT_EQ(fingerprint(Colour::kDarkBlue).size(), 1u);
}

TEST(Fingerprint, AppendsToWhatIsThere) {
  std::string out = "x";
  appendFingerprint(out, Point{1, 1});
  EXPECT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0], 'x');
}

}  // namespace
}  // namespace troupe::machines
