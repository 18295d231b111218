#pragma once
#include <string>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"

/// Machines so small that their histories can be counted by hand.
namespace troupe::model::tally {

using machines::NodeName;
using machines::Step;
using machines::Transitions;

struct Add {};
struct Tell {};
struct AskFor {};
struct Count {};
struct Counted {};

/// Counts the messages it is sent, and answers asks. `safely` false: a crash may undo what it counted.
struct Tally : machines::Machine<Tally> {
  static constexpr const char* kName = "tally";
  enum class Phase { kCounting };
  static constexpr auto kPhases = machines::phases<Phase>({{Phase::kCounting, "counting", "it counts"}});
  struct Document {
    int count = 0;
    bool safely = true;
    Phase phase = Phase::kCounting;
  };
  using Event = std::variant<Add, Count>;
  using Message = std::variant<Counted>;

  static const Transitions<Tally>& transitions() {
    static const Transitions<Tally> table{
        anywhere<Add>({}, [](const Document& d, const Add&) { return counted(d); }),
        anywhere<Count>({}, [](const Document& d, const Count&) { return counted(d).then(reply(Counted{})); })};
    return table;
  }
  static Step<Tally> resume(const Document&) { return stay(); }
  static std::vector<machines::Invariant> invariants() { return {}; }

 private:
  static Step<Tally> counted(Document d) {
    ++d.count;
    return stay(d.safely ? machines::Durability::kJournaled : machines::Durability::kLocal).with(d);
  }
};

/// Has a node count once: by telling it, or by asking until it has answered.
struct Teller : machines::Machine<Teller> {
  static constexpr const char* kName = "teller";
  enum class Phase { kIdle, kAsking, kDone, kRefused };
  static constexpr auto kPhases = machines::phases<Phase>({{Phase::kIdle, "idle", "nothing was asked of it"},
                                                           {Phase::kAsking, "asking", "it waits for the answer"},
                                                           {Phase::kDone, "done", "the answer came"},
                                                           {Phase::kRefused, "refused", "it was told why not"}});
  struct Document {
    NodeName to;
    Phase phase = Phase::kIdle;
  };
  using Event = std::variant<Tell, AskFor, Counted, machines::Refused>;
  using Message = std::variant<Count>;

  static const Transitions<Teller>& transitions() {
    static const Transitions<Teller> table{
        row<Tell>(Phase::kIdle, {}, [](const Document& d, const Tell&) { return stay().then(send(d.to, Count{})); }),
        row<AskFor>(Phase::kIdle, {Phase::kAsking},
                    [](const Document& d, const AskFor&) { return to(Phase::kAsking).then(ask(d.to, Count{})); }),
        row<Counted>(Phase::kAsking, {Phase::kDone}, [](const Document&, const Counted&) { return to(Phase::kDone); }),
        row<machines::Refused>(Phase::kAsking, {Phase::kRefused},
                               [](const Document&, const machines::Refused&) { return to(Phase::kRefused); })};
    return table;
  }
  static Step<Teller> resume(const Document& d) {
    return d.phase == Phase::kAsking ? stay().then(ask(d.to, Count{})) : stay();
  }
  static std::vector<machines::Invariant> invariants() { return {}; }
};

struct Soon {};
struct Late {};

/// Refuses to count. Has two timers, of which `Soon` is due earlier.
struct Refuser : machines::Machine<Refuser> {
  static constexpr const char* kName = "refuser";
  enum class Phase { kQuiet, kSoonCame, kLateCame };
  static constexpr auto kPhases =
      machines::phases<Phase>({{Phase::kQuiet, "quiet", "no timer has fired"},
                               {Phase::kSoonCame, "soon came", "the earlier one came first"},
                               {Phase::kLateCame, "late came", "the later one came first"}});
  struct Document {
    Phase phase = Phase::kQuiet;
  };
  using Event = std::variant<Count, Soon, Late>;

  static const Transitions<Refuser>& transitions() {
    static const Transitions<Refuser> table{
        anywhere<Count>({},
                        [](const Document&, const Count&) {
                          return stay().then(refuse(Status(ErrorCode::kIllegalOperation, "it does not count")));
                        }),
        row<Soon>(Phase::kQuiet, {Phase::kSoonCame}, [](const Document&, const Soon&) { return to(Phase::kSoonCame); }),
        row<Late>(Phase::kQuiet, {Phase::kLateCame},
                  [](const Document&, const Late&) { return to(Phase::kLateCame); })};
    return table;
  }
  static Step<Refuser> resume(const Document&) {
    using machines::Millis;
    return stay().then(after(Millis(10), Soon{}, Millis(5)), after(Millis(20), Late{}));
  }
  static std::vector<machines::Invariant> invariants() { return {}; }
};

}  // namespace troupe::model::tally

TROUPE_DESCRIBE(troupe::model::tally::Add, 0)
TROUPE_DESCRIBE(troupe::model::tally::Tell, 0)
TROUPE_DESCRIBE(troupe::model::tally::AskFor, 0)
TROUPE_DESCRIBE(troupe::model::tally::Count, 0)
TROUPE_DESCRIBE(troupe::model::tally::Counted, 0)
TROUPE_DESCRIBE(troupe::model::tally::Soon, 0)
TROUPE_DESCRIBE(troupe::model::tally::Late, 0)
TROUPE_MACHINE(troupe::model::tally::Refuser, 1, phase)
TROUPE_MACHINE(troupe::model::tally::Tally, 1, count, safely, phase)
TROUPE_MACHINE(troupe::model::tally::Teller, 1, to, phase)
