#pragma once
#include <string>
#include <variant>

#include "messaging/description/message.hpp"
#include "state_machines/core/machine.hpp"

/// The machine that the kit's own tests run.
namespace troupe::probe::test {

using namespace machines;

struct Call {
  int64_t number = 0;
  static constexpr const char* kReceiver = "/peer";
};
struct Answered {
  int64_t number = 0;
};
struct TooLate {};

/// Calls another node until it answers, and gives up after a minute.
struct Caller : Machine<Caller> {
  static constexpr const char* kName = "caller";
  enum class Phase { kCalling, kDone };
  static constexpr auto kPhases =
      phases<Phase>({{Phase::kCalling, "calling", "nobody has answered"}, {Phase::kDone, "done", "it was answered"}});
  struct Document {
    std::string id, peer;
    int64_t sum = 0;
    Phase phase = Phase::kCalling;
  };
  struct Memory {
    int64_t answers = 0;
  };
  using Event = std::variant<Answered, TooLate, Refused>;
  using Message = std::variant<Call>;

  static const Transitions<Caller>& transitions();
  static Step<Caller> resume(const Document& d) {
    if (d.phase == Phase::kDone) return stay();
    return stay().then(ask(d.peer, Call{7}), after(Millis(60'000), TooLate{}, Millis(500)));
  }
  static std::vector<Invariant> invariants() { return {}; }
};

inline const Transitions<Caller>& Caller::transitions() {
  static const Transitions<Caller> table{
      row<Answered>(Phase::kCalling, {Phase::kDone},
                    [](const Document& d, const Memory& m, const Answered& e) {
                      Document next = d;
                      next.sum += e.number;
                      return to(Phase::kDone).with(next).remembering({m.answers + 1}).then(cancel(TooLate{}));
                    }),
      row<Refused>(Phase::kCalling, {kEnd}, [](const Document&, const Refused& e) { return finish(e.why); }),
      row<TooLate>(Phase::kCalling, {}, [](const Document&, const TooLate&) { return to(Phase::kDone); })};
  return table;
}

}  // namespace troupe::probe::test

TROUPE_MESSAGE(troupe::probe::test::Call, number)
TROUPE_MESSAGE(troupe::probe::test::Answered, number)
TROUPE_DESCRIBE(troupe::probe::test::TooLate, 0)
TROUPE_DESCRIBE(troupe::probe::test::Caller::Memory, 0, answers)
TROUPE_MACHINE(troupe::probe::test::Caller, 1, id, peer, sum, phase)
