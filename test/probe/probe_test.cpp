#include "test/probe/probe.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "messaging/schemas/testing.capnp.h"
#include "test/probe/subjects/caller.hpp"
#include "test/probe/test_kit.hpp"

namespace troupe::probe::test {
namespace {

struct Note {
  std::string text;
};  // stays within its process

class ProbeTest : public ::testing::Test {
 protected:
  TestKit kit{"n1"};
  Probe a = kit.probe("/a"), b = kit.probe("/b"), far = kit.probe("n2", "/far");
};

TEST_F(ProbeTest, ReadsTheFieldsOfWhatItExpects) {
  a.tell(b.address(), Call{7});
  const auto call = b.expect<Call>();
  EXPECT_EQ(call->number, 7);
  EXPECT_EQ(call.sender(), a.address());
  EXPECT_FALSE(call.asks());
  a.tell(b.address(), Note{"here"});
  EXPECT_EQ(b.expect<Note>()->text, "here");
  a.tell(b.address(), build<schema::Ping>([](schema::Ping::Builder ping) { ping.setNumber(8); }));
  EXPECT_EQ(b.expect<schema::Ping>().read()->getNumber(), 8);
}

TEST_F(ProbeTest, AnswersAndRefuses) {
  Question first = a.ask(far.address(), Call{7});
  far.expect<Call>().reply(Answered{8});
  EXPECT_EQ(first.expectAnswer<Answered>()->number, 8);
  Question second = a.ask(far.address(), Call{7});
  far.expect<Call>().fail({ErrorCode::kUnauthorized, "not you"});
  EXPECT_EQ(second.expectFailure(ErrorCode::kUnauthorized), "not you");
}

TEST_F(ProbeTest, ForwardsWithTheDutyToAnswer) {
  Question question = a.ask(far.address(), Call{7});
  far.expect<Call>().forward(b.address());
  const auto call = b.expect<Call>();
  EXPECT_EQ(call.sender(), a.address());
  call.reply(Answered{9});
  EXPECT_EQ(question.expectAnswer<Answered>()->number, 9);
}

TEST_F(ProbeTest, FishesForTheOneThatFits) {
  for (int i = 0; i < 5; ++i) a.tell(b.address(), Call{i});
  a.tell(b.address(), Note{});
  EXPECT_EQ(b.fish<Call>([](const Call& call) { return call.number >= 3; })->number, 3);
  EXPECT_EQ(b.expect<Call>()->number, 4) << "only those before it are dropped";
}

TEST_F(ProbeTest, WaitsInVirtualTime) {
  kit.time().schedule(kit.time().now() + 2s, [&] { a.tell(b.address(), Call{7}); });
  b.expectNone(1999ms);
  b.expect<Call>(2ms);
  EXPECT_EQ(kit.seconds(kit.time().now()), 2.0) << "no longer than it has to";
}

TEST_F(ProbeTest, AnswersAllMessagesOfATypeAtOnce) {
  far.alwaysAnswer<Call>([](const Call& call) { return Answered{call.number + 1}; });
  EXPECT_EQ(a.ask(far.address(), Call{1}).expectAnswer<Answered>()->number, 2);
  EXPECT_EQ(far.expect<Call>()->number, 1) << "it can still be looked at";
  far.alwaysAnswer<Call>([](const Call&) { return Status(ErrorCode::kUnauthorized, "no more"); });
  a.ask(far.address(), Call{1}).expectFailure(ErrorCode::kUnauthorized);
}

TEST_F(ProbeTest, WatchesActorsHereAndElsewhere) {
  b.watch(a.address());
  far.watch(a.address());
  kit.node().kill(a.address(), {ErrorCode::kInternalError, "killed"});
  EXPECT_EQ(b.expectEnd(a.address()).reason.reason(), "killed");
  EXPECT_EQ(far.expectEnd(a.address()).reason.code(), ErrorCode::kInternalError);
}

TEST_F(ProbeTest, SaysWhatCameInPlaceOfAnEnd) {
  a.watch(far.address());
  a.tell(a.address(), Note{});
  Down down;
  EXPECT_NONFATAL_FAILURE(down = a.expectEnd(far.address(), 0s),
                          "n1/a expected the end of n2/far within 0 s, and there came\n    0.000  Note");
  EXPECT_TRUE(down.reason.isOK()) << "a failed expectation is an empty one";
}

TEST_F(ProbeTest, SaysWhatCameInPlaceOfWhatItExpected) {
  kit.knows<Call>();
  kit.advance(1500ms);
  a.tell(b.address(), Call{7});
  EXPECT_NONFATAL_FAILURE(b.expect<Note>(),
                          "n1/b expected Note within 3 s, and there came\n    1.500  Call{number=7} from n1/a\n");
}

TEST_F(ProbeTest, SaysThatNothingCameAndHowTheActorsAre) {
  EXPECT_NONFATAL_FAILURE(EXPECT_EQ(b.expect<Call>(5s)->number, 0),
                          "n1/b expected Call within 5 s, and nothing came\nThe actors of n1:\n");
  EXPECT_EQ(kit.seconds(kit.time().now()), 5.0);
}

TEST_F(ProbeTest, SaysWhatCameWhereNothingWasExpected) {
  kit.knows<Call>();
  Question question = a.ask(b.address(), Call{7});
  EXPECT_NONFATAL_FAILURE(b.expectNone(1s),
                          "n1/b expected nothing for 1 s, and there came\n    0.000  Call{number=7} from n1/a, asks\n");
}

TEST_F(ProbeTest, SaysWhatItSkippedWhenItFishedInVain) {
  for (int i = 0; i < 2; ++i) a.tell(b.address(), Call{i});
  EXPECT_NONFATAL_FAILURE(b.fish<Call>([](const Call& call) { return call.number == 7; }),
                          "Call{number=0} from n1/a\n    0.000  Call{number=1}");
}

TEST_F(ProbeTest, SaysWhatAQuestionWasAnsweredWith) {
  Question open = a.ask(b.address(), Call{1});
  EXPECT_NONFATAL_FAILURE(open.expectAnswer<Answered>(1s),
                          "n1/b was to answer Answered within 1 s, and has not answered");
  b.expect<Call>().fail({ErrorCode::kUnauthorized, "not you"});
  EXPECT_NONFATAL_FAILURE(open.expectAnswer<Answered>(), "was to answer Answered, and refused: Unauthorized: not you");
  EXPECT_NONFATAL_FAILURE(open.expectFailure(ErrorCode::kBadValue),
                          "was to fail with BadValue, and refused: Unauthorized: not you");
  EXPECT_NONFATAL_FAILURE(open.expectNone(), "was to be silent for 0 s, and refused: Unauthorized");
  kit.knows<Call>();
  Question other = a.ask(b.address(), Call{1});
  b.expect<Call>().reply(Call{2});
  EXPECT_NONFATAL_FAILURE(other.expectAnswer<Answered>(), "was to answer Answered, and answered Call{number=2}");
}

TEST_F(ProbeTest, SaysWhereTheTestFailed) {
  const std::string line = "probe_test.cpp";
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    b.expect<Call>(0s);
  }
  ASSERT_EQ(failures.size(), 1);
  EXPECT_TRUE(std::string(failures.GetTestPartResult(0).file_name()).ends_with(line));
}

}  // namespace
}  // namespace troupe::probe::test
