#include "test/checkers/list_append.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <random>

namespace troupe::checkers {
namespace {

using Steps = std::vector<ListStep>;
using ListsHistory = History<ListTransaction>;

TimePoint listMillis(int64_t millis) { return TimePoint(std::chrono::milliseconds(millis)); }
ListStep append(const char* key, int64_t value) { return ListStep::append(key, value); }
ListStep read(const char* key, std::vector<int64_t> contents) { return ListStep::read(key, std::move(contents)); }

/// A history by hand: transactions of processes of their own, one after the other, or all at the same time.
struct ListHistory {
  ListsHistory history;
  int64_t clock = 0;
  bool together = false;

  ListHistory& then(Steps steps, Outcome outcome = Outcome::kOk) {
    clock += 10;
    const auto process = static_cast<int>(history.size());
    const auto id = history.begin(process, {std::move(steps)}, listMillis(together ? 0 : clock));
    history.end(id, outcome, listMillis(together ? 1'000'000 : clock + 5));
    return *this;
  }
  std::string broken(Isolation isolation = Isolation::kSerializable) const {
    return checkListAppend(history, isolation).broken;
  }
};
ListHistory atOnce() {
  ListHistory told;
  told.together = true;
  return told;
}
bool startsWith(const std::string& text, const std::string& start) { return text.starts_with(start); }

TEST(ListAppend, AcceptsWhatHappensInOrder) {
  EXPECT_EQ(ListHistory()
                .then({append("x", 1)})
                .then({read("x", {1}), append("x", 2)})
                .then({read("x", {1, 2}), read("y", {})})
                .broken(Isolation::kStrictSerializable),
            "");
}

TEST(ListAppend, FindsDirtyWrites) {  // G0: x in one order, y in the other
  const std::string broken = atOnce()
                                 .then({append("x", 1), append("y", 1)})
                                 .then({append("x", 2), append("y", 2)})
                                 .then({read("x", {1, 2})})
                                 .then({read("y", {2, 1})})
                                 .broken(Isolation::kReadCommitted);
  EXPECT_TRUE(startsWith(broken, "dirty write (G0):")) << broken;
  EXPECT_NE(broken.find("before T1: 1 stands before 2 in 'x'"), std::string::npos) << broken;
}

TEST(ListAppend, FindsAbortedReads) {
  EXPECT_TRUE(startsWith(ListHistory().then({append("x", 1)}, Outcome::kFailed).then({read("x", {1})}).broken(),
                         "aborted read (G1a)"));
  EXPECT_EQ(ListHistory().then({append("x", 1)}, Outcome::kUnknown).then({read("x", {1})}).broken(), "");
}

TEST(ListAppend, FindsIntermediateReads) {
  EXPECT_TRUE(startsWith(
      ListHistory().then({append("x", 1), append("x", 2)}).then({read("x", {1})}).then({read("x", {1, 2})}).broken(),
      "intermediate read (G1b)"));
}

TEST(ListAppend, FindsCircularReads) {
  EXPECT_TRUE(startsWith(atOnce()
                             .then({append("x", 1), read("y", {1})})
                             .then({append("y", 1), read("x", {1})})
                             .broken(Isolation::kReadCommitted),
                         "circular information flow (G1c)"));
}

TEST(ListAppend, FindsLostUpdates) {
  const ListHistory told =
      atOnce().then({read("x", {}), append("x", 1)}).then({read("x", {}), append("x", 2)}).then({read("x", {1, 2})});
  EXPECT_TRUE(startsWith(told.broken(Isolation::kSnapshot), "lost update (G-single)")) << told.broken();
  EXPECT_EQ(told.broken(Isolation::kReadCommitted), "");
}

TEST(ListAppend, FindsReadSkew) {
  EXPECT_TRUE(startsWith(atOnce()
                             .then({append("x", 1), append("y", 1)})
                             .then({read("x", {}), read("y", {1})})
                             .then({read("x", {1})})
                             .broken(Isolation::kSnapshot),
                         "read skew (G-single)"));
}

TEST(ListAppend, FindsWriteSkewWhereSerializabilityIsPromised) {
  const ListHistory told = atOnce()
                               .then({read("x", {}), append("y", 1)})
                               .then({read("y", {}), append("x", 1)})
                               .then({read("x", {1}), read("y", {1})});
  EXPECT_TRUE(startsWith(told.broken(Isolation::kSerializable), "write skew (G2)"));
  EXPECT_EQ(told.broken(Isolation::kSnapshot), "");
}

TEST(ListAppend, FindsAcknowledgedAppendsThatAreLost) {
  const ListHistory told = ListHistory().then({append("x", 1)}).then({append("x", 2)}).then({read("x", {1})});
  EXPECT_TRUE(startsWith(told.broken(Isolation::kStrictSerializable), "read skew (G-single), with real time"))
      << told.broken();
  EXPECT_EQ(told.broken(Isolation::kSerializable), "");
  EXPECT_EQ(ListHistory()
                .then({append("x", 1)})
                .then({append("x", 2)}, Outcome::kUnknown)
                .then({read("x", {1})})
                .broken(Isolation::kStrictSerializable),
            "");
}

TEST(ListAppend, FindsReadsThatGoBackInTime) {
  EXPECT_NE(ListHistory()
                .then({append("x", 1)})
                .then({read("x", {1})})
                .then({read("x", {})})
                .broken(Isolation::kStrictSerializable),
            "");
}

TEST(ListAppend, FindsListsThatAreNotMadeOfTheirAppends) {
  EXPECT_TRUE(startsWith(ListHistory().then({append("x", 1)}).then({read("x", {1, 9})}).broken(),
                         "'x' holds 9, which nobody has appended"));
  EXPECT_TRUE(startsWith(ListHistory().then({append("x", 1)}).then({read("x", {1, 1})}).broken(), "'x' holds 1 twice"));
  EXPECT_TRUE(startsWith(ListHistory()
                             .then({append("x", 1)})
                             .then({append("x", 2)})
                             .then({read("x", {1, 2})})
                             .then({read("x", {2})})
                             .broken(),
                         "'x' was read in two orders"));
  EXPECT_TRUE(
      startsWith(ListHistory().then({append("x", 1), read("x", {})}).broken(), "a transaction does not see its own"));
}

TEST(ListAppend, ATransactionMayReadWhatItHasAppended) {
  EXPECT_EQ(ListHistory().then({append("x", 1)}).then({append("x", 2), read("x", {1, 2})}).broken(), "");
}

/// Transactions one after the other, stretched around the moments at which they happened: correct by construction.
ListsHistory correctLists(uint64_t seed, int transactions, int processes, double lost) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  std::map<std::string, std::vector<int64_t>> lists;
  std::vector<int64_t> freeAt(static_cast<size_t>(processes), 0);
  ListsHistory history;
  int64_t moment = 0, value = 0;
  for (int i = 0; i < transactions; ++i) {
    moment += 1 + below(3);
    const auto process = static_cast<size_t>(below(processes));
    moment = std::max(moment, freeAt[process] + 1);
    const int64_t begin = std::max(freeAt[process] + 1, moment - below(20)), end = moment + 1 + below(20);
    freeAt[process] = end;
    const int64_t fate = below(1000);
    const bool noAnswer = static_cast<double>(fate) < lost * 1000, fails = !noAnswer && fate % 20 == 0;
    const bool happens = !fails && (!noAnswer || fate % 2 == 0);
    auto after = lists;
    ListTransaction transaction;
    for (int64_t steps = 1 + below(4); steps > 0; --steps) {
      const std::string key = "k" + std::to_string(below(4));
      if (below(2) == 0) {
        transaction.steps.push_back(ListStep::read(key, after[key]));
      } else {
        transaction.steps.push_back(ListStep::append(key, ++value));
        after[key].push_back(value);
      }
    }
    if (happens) lists = after;
    const auto id = history.begin(static_cast<int>(process), transaction, listMillis(begin));
    history.end(id, noAnswer ? Outcome::kUnknown : fails ? Outcome::kFailed : Outcome::kOk, listMillis(end));
  }
  return history;
}

TEST(ListAppend, AcceptsEveryCorrectHistory) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const ListsHistory history = correctLists(seed, 80, 1 + static_cast<int>(seed % 8), 0.1);
    RC_ASSERT(checkListAppend(history, Isolation::kStrictSerializable).broken == "");
  }));
}

TEST(ListAppend, ThousandsOfTransactionsAreChecked) {
  EXPECT_EQ(checkListAppend(correctLists(7, 4000, 10, 0.02), Isolation::kStrictSerializable).broken, "");
}

}  // namespace
}  // namespace troupe::checkers
