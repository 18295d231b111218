#include "test/checkers/linearizability.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <random>

namespace troupe::checkers {
namespace {

using Kind = RegisterOperation::Kind;
using Registers = History<RegisterOperation>;

TimePoint millis(int64_t millis) { return TimePoint(std::chrono::milliseconds(millis)); }

/// A history by hand: times are milliseconds.
struct RegisterHistory {
  Registers history;

  RegisterHistory& write(int process, int64_t value, int64_t begin, int64_t end, Outcome outcome = Outcome::kOk) {
    const auto id = history.begin(process, {.kind = Kind::kWrite, .key = "x", .value = value}, millis(begin));
    history.end(id, outcome, millis(end));
    return *this;
  }
  RegisterHistory& read(int process, std::optional<int64_t> seen, int64_t begin, int64_t end) {
    const auto id = history.begin(process, {.kind = Kind::kRead, .key = "x", .read = seen}, millis(begin));
    history.end(id, Outcome::kOk, millis(end));
    return *this;
  }
  RegisterHistory& compareAndSet(int process, std::optional<int64_t> expected, int64_t value, bool applied,
                                 int64_t begin, int64_t end, Outcome outcome = Outcome::kOk) {
    const auto id = history.begin(
        process, {.kind = Kind::kCompareAndSet, .key = "x", .expected = expected, .value = value, .applied = applied},
        millis(begin));
    history.end(id, outcome, millis(end));
    return *this;
  }
  std::string broken() const { return checkLinearizable(history).broken; }
};

TEST(Linearizability, AReadSeesTheLastWrite) {
  EXPECT_EQ(RegisterHistory().read(1, {}, 0, 1).write(1, 7, 2, 3).read(2, 7, 4, 5).broken(), "");
}

TEST(Linearizability, AStaleReadIsFound) {
  const std::string broken = RegisterHistory().write(1, 1, 0, 1).write(1, 2, 2, 3).read(2, 1, 4, 5).broken();
  EXPECT_NE(broken.find("register 'x' is not linearizable: when it holds 2, no place is left for"), std::string::npos)
      << broken;
  EXPECT_NE(broken.find("0.004000 ... 0.005000  p2  read x: 1"), std::string::npos) << broken;
}

TEST(Linearizability, AnAcknowledgedWriteThatIsLostIsFound) {
  EXPECT_NE(RegisterHistory().write(1, 1, 0, 1).read(2, {}, 2, 3).broken(), "");
}

TEST(Linearizability, WhatOverlapsMayBeInEitherOrder) {
  EXPECT_EQ(RegisterHistory().write(1, 1, 0, 10).write(2, 2, 0, 10).read(3, 2, 11, 12).broken(), "");
  EXPECT_EQ(RegisterHistory().write(1, 1, 0, 10).write(2, 2, 0, 10).read(3, 1, 11, 12).broken(), "");
  EXPECT_NE(RegisterHistory().write(1, 1, 0, 10).write(2, 2, 0, 10).read(3, 1, 11, 12).read(3, 2, 13, 14).broken(), "");
}

TEST(Linearizability, ReadsThatSeeTwoWritesInTwoOrdersAreFound) {
  EXPECT_NE(RegisterHistory()
                .write(1, 1, 0, 100)
                .write(2, 2, 0, 100)
                .read(3, 1, 10, 11)
                .read(3, 2, 12, 13)
                .read(4, 1, 14, 15)
                .broken(),
            "");
}

TEST(Linearizability, AWriteWithoutAnAnswerMayHappenLateOrNever) {
  const auto lost = Outcome::kUnknown;
  EXPECT_EQ(RegisterHistory().write(1, 1, 0, 1).write(2, 2, 2, 3, lost).read(3, 1, 4, 5).broken(), "");
  EXPECT_EQ(RegisterHistory().write(1, 1, 0, 1).write(2, 2, 2, 3, lost).read(3, 1, 4, 5).read(3, 2, 6, 7).broken(), "");
  EXPECT_NE(RegisterHistory().write(1, 1, 0, 1).write(2, 2, 2, 3, lost).read(3, 2, 4, 5).read(3, 1, 6, 7).broken(), "");
}

TEST(Linearizability, AFailedWriteThatIsSeenIsFound) {
  EXPECT_EQ(RegisterHistory().write(1, 1, 0, 1, Outcome::kFailed).read(2, {}, 2, 3).broken(), "");
  EXPECT_NE(RegisterHistory().write(1, 1, 0, 1, Outcome::kFailed).read(2, 1, 2, 3).broken(), "");
}

TEST(Linearizability, CompareAndSetHappensAtOneMoment) {
  EXPECT_EQ(RegisterHistory()
                .compareAndSet(1, {}, 1, true, 0, 1)
                .compareAndSet(2, 1, 2, true, 2, 3)
                .read(3, 2, 4, 5)
                .broken(),
            "");
  EXPECT_NE(RegisterHistory().compareAndSet(1, {}, 1, true, 0, 9).compareAndSet(2, {}, 2, true, 0, 9).broken(), "")
      << "both found nothing";
  EXPECT_EQ(RegisterHistory().compareAndSet(1, {}, 1, true, 0, 9).compareAndSet(2, {}, 2, false, 0, 9).broken(), "");
  EXPECT_NE(RegisterHistory().compareAndSet(1, {}, 2, false, 0, 1).broken(), "") << "it held what was expected";
}

TEST(Linearizability, RegistersAreIndependent) {
  RegisterHistory told;
  told.write(1, 1, 0, 1);
  const auto id = told.history.begin(2, {.kind = Kind::kRead, .key = "y"}, millis(2));
  told.history.end(id, Outcome::kOk, millis(3));
  EXPECT_EQ(told.broken(), "");
}

/// A sequential execution, whose operations are then stretched around the moments at which they happened: correct by
/// construction.
Registers correctRegisters(uint64_t seed, int operations, int processes, int keys, double lost) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  std::map<std::string, std::optional<int64_t>> registers;
  std::vector<int64_t> freeAt(static_cast<size_t>(processes), 0);
  std::vector<int> name(static_cast<size_t>(processes));
  for (int i = 0; i < processes; ++i) name[static_cast<size_t>(i)] = i;
  Registers history;
  int64_t moment = 0;
  for (int i = 0; i < operations; ++i) {
    moment += 1 + below(3);
    const auto process = static_cast<size_t>(below(processes));
    moment = std::max(moment, freeAt[process] + 1);
    const int64_t begin = std::max(freeAt[process] + 1, moment - below(20)), end = moment + 1 + below(20);
    freeAt[process] = end;
    RegisterOperation op{.kind = static_cast<Kind>(below(3)), .key = "k" + std::to_string(below(keys)), .value = i + 1};
    auto& value = registers[op.key];
    const bool noAnswer = static_cast<double>(below(1000)) < lost * 1000;
    const bool happens = !noAnswer || below(2) == 0;
    if (op.kind == Kind::kRead) op.read = value;
    if (op.kind == Kind::kWrite && happens) value = op.value;
    if (op.kind == Kind::kCompareAndSet) {
      op.expected = below(3) == 0 ? std::optional<int64_t>(below(i + 1)) : value;
      op.applied = op.expected == value;
      if (op.applied && happens) value = op.value;
    }
    const auto id = history.begin(name[process], op, millis(begin));
    history.end(id, noAnswer ? Outcome::kUnknown : Outcome::kOk, millis(end));
    if (noAnswer) name[process] += 1000;
  }
  return history;
}

TEST(Linearizability, AcceptsEveryCorrectHistory) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const auto keys = 1 + static_cast<int>(seed % 4), processes = 1 + static_cast<int>(seed / 4 % 8);
    RC_ASSERT(checkLinearizable(correctRegisters(seed, 60, processes, keys, 0.1)).broken == "");
  }));
}

TEST(Linearizability, OneChangedReadOfASequentialHistoryIsFound) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    const Registers correct = correctRegisters(seed, 40, 1, 1, 0);
    Registers changed;
    bool done = false;
    for (const auto& event : correct.events()) {
      RegisterOperation op = event.operation;
      if (op.kind == Kind::kRead && !done && event.begin > millis(30)) {
        op.read = 1'000'000;
        done = true;
      }
      changed.end(changed.begin(event.process, op, event.begin), event.outcome, event.end);
    }
    RC_PRE(done);
    RC_ASSERT(checkLinearizable(changed).broken != "");
  }));
}

TEST(Linearizability, TenThousandOperationsOfOneRegisterTakeNoTime) {
  EXPECT_EQ(checkLinearizable(correctRegisters(5, 10'000, 8, 1, 0.02), 5'000'000).broken, "");
}

}  // namespace
}  // namespace troupe::checkers
