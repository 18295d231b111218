#include "messaging/description/text.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "test/unit/messaging/description/sample.hpp"

namespace troupe::machines {
namespace {

using namespace sample;

struct Drain {
  std::string lease;
  std::string from;
  std::optional<Colour> colour;
};

}  // namespace
}  // namespace troupe::machines

TROUPE_DESCRIBE(troupe::machines::Drain, 0, lease, from, colour)

namespace troupe::machines {
namespace {

TEST(Text, ShowsFieldsByName) { EXPECT_EQ(toText(Drain{"L", "a", {}}), "Drain{lease=L, from=a}"); }

TEST(Text, ShowsAStructWithoutFieldsByItsNameAlone) { EXPECT_EQ(toText(Drained{}), "Drained"); }

TEST(Text, LeavesOutWhatIsAbsent) {
  EXPECT_EQ(toText(Drain{"L", "a", Colour::kRed}), "Drain{lease=L, from=a, colour=red}");
}

TEST(Text, QuotesAndEscapes) {
  EXPECT_EQ(toText(Drain{"", "a b", {}}), R"(Drain{lease="", from="a b"})");
  EXPECT_EQ(quotedText("node-1.local:27017"), "node-1.local:27017");
  EXPECT_EQ(quotedText("a=b"), R"("a=b")");
  EXPECT_EQ(quotedText("say \"no\"\\\n\t"), R"("say \"no\"\\\n\t")");
  EXPECT_EQ(quotedText(std::string("\0\x7F", 2)), R"("\x00\x7f")");
  EXPECT_EQ(quotedText("\xC3\xA9"), "\"\xC3\xA9\"");
  EXPECT_EQ(quotedText("\xC3"), R"("\xc3")");
}

TEST(Text, ShowsEachKind) {
  Numbers n;
  n.truth = true;
  n.tiny = -1;
  n.huge = ~uint64_t{0};
  n.real = 0.1;
  n.single = 0.5F;
  n.patience = std::chrono::milliseconds(250);
  EXPECT_EQ(toText(n),
            "Numbers{truth=true, tiny=-1, small=0, normal=0, count=0, large=0, huge=18446744073709551615, real=0.1, "
            "single=0.5, patience=250}");
  EXPECT_EQ(toText(Event(Point{1, 2})), "Point{x=1, y=2}");
  EXPECT_EQ(toText(Refused{}), "Refused{why=OK}");
  EXPECT_EQ(toText(Refused{Status(ErrorCode::kHostUnreachable, "no route"), Point{}}),
            R"(Refused{why=HostUnreachable("no route"), where=Point{x=0, y=0}})");
  EXPECT_EQ(toText(std::vector<std::string>{"a", "b c"}), R"([a, "b c"])");
  EXPECT_EQ(toText(std::map<std::string, std::vector<int>>{{"k", {1, 2}}, {"l", {}}}), "{k=[1, 2], l=[]}");
  EXPECT_EQ(toText(std::optional<int>()), "none");
  EXPECT_EQ(toText(std::vector<uint8_t>{1, 255}), "0x01ff");
  EXPECT_EQ(toText(bson::Timestamp{5, 2}), "5+2");
  EXPECT_EQ(toText(bson::Date{-7}), "-7ms");
  EXPECT_EQ(toText(bson::Uuid{}), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(toText(bson::ObjectId{}), "000000000000000000000000");
  EXPECT_EQ(toText(bson::doc("a", 1)), R"({ "a" : 1 })");
  EXPECT_EQ(toText(bson::Value(std::string("x"))), R"("x")");
}

TEST(Text, EndsSomewhere) { EXPECT_THAT(toText(branch(200)), testing::HasSubstr("Tree{...}")); }

RC_GTEST_PROP(Text, IsOneLineForAnyValue, ()) {
  const Everything value = *arbitraryEverything();
  const std::string line = toText(value);
  RC_ASSERT(line == toText(Everything(value)));
  RC_ASSERT(std::none_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
}

}  // namespace
}  // namespace troupe::machines
