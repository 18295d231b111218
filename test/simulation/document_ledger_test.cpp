#include "test/simulation/document_ledger.hpp"

#include <gtest/gtest.h>

#include "test/simulation/member_reads.hpp"
#include "test/simulation/set_data.hpp"
#include "test/simulation/stormy_set.hpp"

namespace troupe::sim {
namespace {

using Documents = std::vector<bson::Document>;

bson::Document shownAs(int64_t id, int64_t value) { return bson::doc("_id", id, "n", value, "term", 1); }

OpTime at(int64_t term, uint32_t seconds) { return {term, {seconds, 1}}; }

/// Two writes of document 7 in term 1 and one in term 2; the second has reached a majority.
class DocumentLedgerTest : public testing::Test {
 protected:
  DocumentLedgerTest() {
    ledger.committed(7, first, at(1, 10));
    ledger.committed(7, second, at(1, 20));
    ledger.committed(7, third, at(2, 15));
    ledger.acknowledged(second);
  }
  std::string shown(const Documents& found) const { return ledger.shown(found, ledger.newestAcknowledged()); }

  DocumentLedger ledger;
  const int64_t first = ledger.newValue(), second = ledger.newValue(), third = ledger.newValue();
};

TEST_F(DocumentLedgerTest, AnAcknowledgedWriteOrALaterOneIsShown) {
  EXPECT_EQ(shown({shownAs(7, second)}), "");
  EXPECT_EQ(shown({shownAs(7, third)}), "") << "of a later term, by a clock that is behind";
}

TEST_F(DocumentLedgerTest, AnOlderWriteThanTheAcknowledgedOneIsFound) {
  EXPECT_EQ(shown({shownAs(7, first)}),
            "document 7 is of 10.1 of term 1, and its write at 20.1 of term 1 was acknowledged");
  EXPECT_EQ(ledger.shown({shownAs(7, first)}, {}), "") << "of a read that is promised nothing";
}

TEST_F(DocumentLedgerTest, AnAcknowledgedDocumentThatIsNotThereIsFound) {
  EXPECT_EQ(shown({}), "document 7 is not there, and its write at 20.1 of term 1 was acknowledged");
}

TEST_F(DocumentLedgerTest, AValueThatWasNeverCommittedIsFound) {
  EXPECT_EQ(ledger.shown({shownAs(7, 99)}, {}), "document 7 has the value 99, which was never committed");
  EXPECT_EQ(ledger.shown({shownAs(8, second)}, {}), "document 8 has the value 2, which was never committed");
}

TEST_F(DocumentLedgerTest, ALaterReadIsHeldToWhatCountsForIt) {
  ledger.acknowledged(third);
  const auto ofTermOne = ledger.newestAcknowledged([](const OpTime& time) { return time.term <= 1; });
  EXPECT_EQ(ledger.shown({shownAs(7, second)}, ofTermOne), "");
  EXPECT_NE(shown({shownAs(7, second)}).find("its write at 15.1 of term 2"), std::string::npos);
}

TEST_F(DocumentLedgerTest, AnAcknowledgementWithoutACommitIsFound) {
  EXPECT_EQ(ledger.left({shownAs(7, second)}, ledger.newestAcknowledged()), "");
  ledger.acknowledged(ledger.newValue());
  EXPECT_EQ(ledger.left({shownAs(7, second)}, ledger.newestAcknowledged()),
            "write 4 was acknowledged, and was never committed");
}

std::string documentsOfStormySet(const char* invariant, const std::string& rate, const std::string& more) {
  std::string scenario = "[[workload]]\nkind = \"documents\"\nrate = " + rate + "\n" + more;
  scenario += "[[workload]]\nkind = \"member-reads\"\nrate = 40\n";
  if (invariant) scenario += std::string("[check]\ninvariants = [\"") + invariant + "\"]\n";
  return firstBrokenOfStormySet(scenario, invariant ? 20 : 3);
}

TEST(MajorityDocuments, SurviveThePrimariesThatWroteThem) { EXPECT_EQ(documentsOfStormySet(nullptr, "40", ""), ""); }

/// `torn`: writes that only the primary's own disk has count as acknowledged by a majority.
TEST(MajorityDocuments, OneThatANewPrimaryLacksIsFoundByReads) {
  const std::string broken = documentsOfStormySet(MemberReads::kInvariant, "40", "torn = 1\n");
  EXPECT_TRUE(broken.starts_with(MemberReads::kInvariant)) << broken;
}

/// Documents are rarely written here: a later write would hide the lost one.
TEST(MajorityDocuments, OneThatIsLostIsFoundInTheEnd) {
  const std::string broken = documentsOfStormySet(SetData::kNothingLost, "4", "torn = 1\n");
  EXPECT_TRUE(broken.starts_with(SetData::kNothingLost)) << broken;
}

}  // namespace
}  // namespace troupe::sim
