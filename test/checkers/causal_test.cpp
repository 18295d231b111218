#include "test/checkers/causal.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <random>

namespace troupe::checkers {
namespace {

using Kind = RegisterOperation::Kind;

struct CausalHistory {
  History<RegisterOperation> history;
  int64_t clock = 0;

  CausalHistory& write(int session, const char* key, int64_t value) {
    return add(session, {.kind = Kind::kWrite, .key = key, .value = value});
  }
  CausalHistory& read(int session, const char* key, std::optional<int64_t> seen) {
    return add(session, {.kind = Kind::kRead, .key = key, .read = seen});
  }
  CausalHistory& add(int session, RegisterOperation op) {
    const TimePoint now(std::chrono::milliseconds(++clock));
    history.end(history.begin(session, std::move(op), now), Outcome::kOk, now);
    return *this;
  }
  std::string broken() const { return checkCausal(history).broken; }
};

TEST(Causal, SessionsMaySeeWritesLate) {
  EXPECT_EQ(CausalHistory().write(1, "x", 1).read(2, "x", {}).read(2, "x", 1).broken(), "");
}

TEST(Causal, ConcurrentWritesMayBeSeenInAnyOrder) {
  EXPECT_EQ(CausalHistory().write(1, "x", 1).write(2, "x", 2).read(3, "x", 1).read(4, "x", 2).broken(), "");
}

TEST(Causal, ASessionThatDoesNotReadItsOwnWriteIsFound) {
  EXPECT_NE(CausalHistory().write(1, "x", 1).read(1, "x", {}).broken(), "");
  EXPECT_NE(CausalHistory().write(1, "x", 1).write(1, "x", 2).read(1, "x", 1).broken(), "");
}

TEST(Causal, ASessionWhoseReadsGoBackIsFound) {
  const std::string broken = CausalHistory().write(1, "x", 1).write(1, "x", 2).read(2, "x", 2).read(2, "x", 1).broken();
  EXPECT_TRUE(broken.starts_with("a read goes back")) << broken;
}

TEST(Causal, ACompareAndSetReadsAndWrites) {
  const auto swap = [](std::optional<int64_t> expected, int64_t value, bool applied = true) {
    return RegisterOperation{
        .kind = Kind::kCompareAndSet, .key = "x", .expected = expected, .value = value, .applied = applied};
  };
  EXPECT_EQ(CausalHistory().write(1, "x", 1).add(2, swap(1, 2)).read(2, "x", 2).read(3, "x", 2).broken(), "");
  EXPECT_EQ(CausalHistory().write(1, "x", 1).write(1, "x", 2).add(1, swap(1, 3, false)).read(1, "x", 2).broken(), "");
  EXPECT_NE(CausalHistory().write(1, "x", 1).write(1, "x", 2).add(1, swap(1, 3)).broken(), "") << "it saw an old value";
  EXPECT_NE(CausalHistory().write(1, "x", 1).add(2, swap(1, 2)).read(2, "x", 1).broken(), "") << "its own is forgotten";
  EXPECT_NE(CausalHistory().add(1, swap(7, 2)).broken(), "") << "of what nobody has written";
}

TEST(Causal, AnAnswerThatIsSeenBeforeItsQuestionIsFound) {
  EXPECT_NE(CausalHistory()
                .write(1, "question", 1)
                .read(2, "question", 1)
                .write(2, "answer", 2)
                .read(3, "answer", 2)
                .read(3, "question", {})
                .broken(),
            "");
}

TEST(Causal, ValuesThatNobodyWroteAndCirclesAreFound) {
  EXPECT_TRUE(CausalHistory().read(1, "x", 5).broken().starts_with("a read of what nobody has written"));
  EXPECT_TRUE(CausalHistory().read(1, "x", 1).write(1, "y", 1).read(2, "y", 1).write(2, "x", 1).broken().starts_with(
      "reads and writes are in a circle"));
}

/// Sessions read from copies that apply the writes of all in one order, each at its own pace and never going back: so a
/// causally consistent store behaves.
TEST(Causal, AcceptsEveryCorrectHistory) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    std::mt19937_64 random(seed);
    struct Write {
      std::string key;
      int64_t value;
    };
    std::vector<Write> log;
    std::map<int, size_t> applied;
    CausalHistory told;
    for (int i = 0; i < 100; ++i) {
      const int session = static_cast<int>(random() % 4);
      const std::string key = "k" + std::to_string(random() % 3);
      size_t& at = applied[session];
      if (random() % 2 == 0) {
        log.push_back({key, i + 1});
        at = log.size();
        told.write(session, key.c_str(), i + 1);
        continue;
      }
      at += log.size() > at ? random() % (log.size() - at + 1) : 0;
      std::optional<int64_t> seen;
      for (size_t w = 0; w < at; ++w)
        if (log[w].key == key) seen = log[w].value;
      told.read(session, key.c_str(), seen);
    }
    RC_ASSERT(told.broken() == "");
  }));
}

}  // namespace
}  // namespace troupe::checkers
