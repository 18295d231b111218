#include "test/probe/machine_kit.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "test/probe/subjects/caller.hpp"

namespace troupe::probe::test {
namespace {

using Phase = Caller::Phase;

const Caller::Document kCalling{.id = "a", .peer = "b"};

TEST(MachineKit, ComparesDocumentMemoryEffectsAndEnd) {
  Caller::Document done = kCalling;
  done.sum = 7;
  done.phase = Phase::kDone;
  given<Caller>(kCalling).when(Answered{7}).then(becomes(done), remembers(Caller::Memory{1}), disarms(TooLate{}));
  given<Caller>(kCalling).whenResumed().then(asks("b", Call{7}), arms(Millis(60'000), TooLate{}, Millis(500)));
  const Status no(ErrorCode::kUnauthorized, "not you");
  given<Caller>(kCalling).when(Refused{"b", no}).then(ends(no));
}

TEST(MachineKit, GoesOnFromWhatTheMachineHasBecome) {
  given<Caller>(kCalling)
      .when(Answered{0})
      .then(movesTo(Phase::kDone), remembers(Caller::Memory{1}), disarms(TooLate{}))
      .when(Answered{8})
      .thenNothing();
}

TEST(MachineKit, ShowsWhatCameInPlaceOfWhatWasExpected) {
  EXPECT_NONFATAL_FAILURE(
      given<Caller>(kCalling).whenResumed().then(asks("b", Call{8}), arms(Millis(60'000), TooLate{}, Millis(500))),
      "caller, given Document{id=a, peer=b, sum=0, phase=calling} with Memory{answers=0}, when it resumes\n"
      "(- expected, + came)\n"
      "  - asks b Call{number=8}\n"
      "  + asks b Call{number=7}\n"
      "    arms TooLate in 60000 ms and up to 500 ms more\n");
}

TEST(MachineKit, NoticesWhatWasNotExpectedAndWhatDidNotCome) {
  EXPECT_NONFATAL_FAILURE(given<Caller>(kCalling).whenResumed().then(asks("b", Call{7})), "  + arms TooLate");
  EXPECT_NONFATAL_FAILURE(given<Caller>(kCalling).when(Refused{}).thenNothing(), "  + ends with");
  auto done = kCalling;
  done.phase = Phase::kDone;
  EXPECT_NONFATAL_FAILURE(given<Caller>(done).when(TooLate{}).then(movesTo(Phase::kDone)), "  - becomes ");
}

TEST(MachineKit, TellsDurabilitiesApart) {
  const Status no(ErrorCode::kUnauthorized, "not you");
  EXPECT_NONFATAL_FAILURE(
      given<Caller>(kCalling).when(Refused{"b", no}).then(ends(no, Durability::kLocal)),
      "  - ends with Unauthorized(\"not you\") (local)\n  + ends with Unauthorized(\"not you\") (majority)\n");
}

TEST(MachineKit, ShowsThatAMachineBreaksItsTable) {
  EXPECT_NONFATAL_FAILURE(given<Caller>(kCalling).when(TooLate{}).then(movesTo(Phase::kDone)),
                          "+ breaks: caller: TooLate in phase calling led to done, which its table does not say");
}

}  // namespace
}  // namespace troupe::probe::test
