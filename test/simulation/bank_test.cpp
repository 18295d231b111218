#include "test/simulation/bank.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "test/simulation/data_sessions.hpp"
#include "test/simulation/stormy_set.hpp"

namespace troupe::sim {
namespace {

std::string firstBrokenBank(const std::string& wrong) {
  return firstBrokenOfStormySet("[[workload]]\nkind = \"transfers\"\nrate = 40\n" + wrong, 2);
}

TEST(Bank, AddsUpWhilePrimariesAreKilled) { EXPECT_EQ(firstBrokenBank(""), ""); }

TEST(Bank, MoneyThatIsGivenBeforeItIsTakenIsFound) {
  const std::string broken = firstBrokenBank("torn = 0.3");
  EXPECT_TRUE(broken.starts_with(kBankHolds)) << broken;
}

/// A transfer of 5 from a to b, asked for and not answered.
class BankLedgerTest : public testing::Test {
 protected:
  BankLedgerTest() {
    ledger.of(number).mayBeTaken = true;
    ledger.of(number).mayBeGiven = true;
  }
  std::string shown(const std::string& ofA, const std::string& ofB) {
    return ledger.shown({account("a", ofA), account("b", ofB)}, ledger.acknowledged());
  }
  std::string left(const std::string& ofA, const std::string& ofB) {
    return ledger.left({account("a", ofA), account("b", ofB)});
  }
  static bson::Document account(const std::string& id, const std::string& rest) {
    return bson::fromJson(R"({"_id": ")" + id + R"(", )" + rest + "}").value();
  }

  BankLedger ledger;
  const int64_t number = ledger.begin("a", "b", 5);
  static constexpr const char* kUntouched = R"("balance": 100, "moves": [])";
  static constexpr const char* kTaken = R"("balance": 95, "moves": [{"t": 1, "by": -5}])";
  static constexpr const char* kGiven = R"("balance": 105, "moves": [{"t": 1, "by": 5}])";
};

TEST_F(BankLedgerTest, ATransferIsShownNotAtAllHalfOrWhole) {
  EXPECT_EQ(shown(kUntouched, kUntouched), "");
  EXPECT_EQ(shown(kTaken, kUntouched), "");
  EXPECT_EQ(shown(kTaken, kGiven), "");
}

TEST_F(BankLedgerTest, WhatIsGivenAndNotTakenIsFound) {
  EXPECT_NE(shown(kUntouched, kGiven).find("did not take"), std::string::npos);
}

TEST_F(BankLedgerTest, AMoveThatIsMadeTwiceIsFound) {
  const char* const twice = R"("balance": 90, "moves": [{"t": 1, "by": -5}, {"t": 1, "by": -5}])";
  EXPECT_NE(shown(twice, kUntouched).find("2 times"), std::string::npos);
}

TEST_F(BankLedgerTest, ABalanceThatIsNotTheSumOfItsMovesIsFound) {
  EXPECT_NE(shown(R"("balance": 94, "moves": [{"t": 1, "by": -5}])", kUntouched).find("come to 95"), std::string::npos);
}

TEST_F(BankLedgerTest, WhatWasAcknowledgedHasToBeShown) {
  ledger.of(number).isTaken = true;
  EXPECT_NE(shown(kUntouched, kUntouched).find("1 moves, and 0 are there"), std::string::npos);
  EXPECT_EQ(shown(kTaken, kUntouched), "");
}

TEST_F(BankLedgerTest, WhatWasRefusedIsNotCarriedOut) {
  ledger.of(number).mayBeGiven = false;
  EXPECT_EQ(shown(kTaken, kUntouched), "");
  EXPECT_NE(shown(kTaken, kGiven).find("refused"), std::string::npos);
}

TEST_F(BankLedgerTest, WhatAMajorityReadHasShownIsThereInTheEnd) {
  EXPECT_EQ(shown(kTaken, kUntouched), "");
  EXPECT_EQ(shown(kUntouched, kUntouched), "") << "another member may be behind";
  EXPECT_NE(left(kUntouched, kUntouched).find("1 moves, and 0 are there"), std::string::npos);
}

}  // namespace
}  // namespace troupe::sim
