#pragma once
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/machines/primary_only_service.hpp"
#include "test/probe/test_kit.hpp"

namespace troupe::machines::test {

using namespace std::chrono_literals;

struct Begun {};
struct Agreed {};
struct Ready {
  std::string who;
};
struct Nudge {
  std::string id;
  int64_t by = 0;
};
struct TooLate {};
/// How far the action is.
struct Half {
  int64_t percent = 0;
};
/// An operator wants no more of it.
struct Abandon {};
/// Its sender is in doubt whether the peer was asked.
struct AskAgain {};
struct Prepare {
  std::string id;
  static constexpr const char* kReceiver = "/peer";
};
struct Finished {
  std::string id;
  static constexpr const char* kReceiver = "/peer";
};
struct Measure {
  std::string what;
};

/// A machine with one of everything: it asks a peer, has an action done, tells the peer, and gives up after a minute.
struct Errand : Machine<Errand> {
  static constexpr const char* kName = "errand";
  enum class Phase { kAsking, kMeasuring, kTelling };
  static constexpr auto kPhases = phases<Phase>({{Phase::kAsking, "asking", "the peer has not agreed"},
                                                 {Phase::kMeasuring, "measuring", "an action is under way"},
                                                 {Phase::kTelling, "telling", "waits for a last nudge"}});
  struct Document {
    std::string id;
    int64_t sum = 0;
    Phase phase = Phase::kAsking;
  };
  using Event = std::variant<Agreed, Ready, Nudge, TooLate, Refused, Half, Abandon, AskAgain>;
  using Message = std::variant<Prepare, Finished>;
  using Action = std::variant<Measure>;

  static const Transitions<Errand>& transitions() {
    static const Transitions<Errand> table{
        row<Agreed>(Phase::kAsking, {Phase::kMeasuring},
                    [](const Document&, const Agreed&) { return to(Phase::kMeasuring).then(perform(Measure{"x"})); }),
        row<Refused>(Phase::kAsking, {kEnd}, [](const Document&, const Refused& e) { return finish(e.why); }),
        row<AskAgain>(Phase::kAsking, {},
                      [](const Document& d, const AskAgain&) { return stay().then(ask("n1", Prepare{d.id})); }),
        row<Ready>(Phase::kMeasuring, {Phase::kTelling},
                   [](const Document& d, const Ready&) {
                     return to(Phase::kTelling).then(send("n1", Finished{d.id}), cancel(TooLate{}));
                   }),
        row<Half>(Phase::kMeasuring, {},
                  [](const Document& d, const Half& e) {
                    Document next = d;
                    next.sum = e.percent;
                    return stay().with(next);
                  }),
        row<Abandon>(
            Phase::kMeasuring, {Phase::kTelling},
            [](const Document& d, const Abandon&) {
              return to(Phase::kTelling).then(giveUp(Measure{"x"}), send("n1", Finished{d.id}), cancel(TooLate{}));
            }),
        anywhere<Nudge>({kEnd},
                        [](const Document& d, const Nudge& e) {
                          if (d.phase == Phase::kTelling) return finish().then(reply(Prepare{"thanks"}));
                          Document next = d;
                          next.sum += e.by;
                          return stay().with(next).then(reply(Prepare{"sum " + std::to_string(next.sum)}));
                        }),
        anywhere<TooLate>({kEnd}, [](const Document&, const TooLate&) {
          return finish(Status(ErrorCode::kExceededTimeLimit, "nobody answered"));
        })};
    return table;
  }
  static Step<Errand> resume(const Document& d) {
    auto step = stay().then(after(60s, TooLate{}));
    if (d.phase == Phase::kAsking) return std::move(step).then(ask("n1", Prepare{d.id}));
    if (d.phase == Phase::kMeasuring) return std::move(step).then(perform(Measure{"x"}));
    return stay().then(send("n1", Finished{d.id}));
  }
  static std::vector<Invariant> invariants() { return {}; }
  static std::string idOf(const Nudge& nudge) { return nudge.id; }
  static bool conflicts(const Document& running, const Document& wanted) { return running.id[0] == wanted.id[0]; }
};

}  // namespace troupe::machines::test

TROUPE_DESCRIBE(troupe::machines::test::Agreed, 0)
TROUPE_DESCRIBE(troupe::machines::test::Ready, 0, who)
TROUPE_DESCRIBE(troupe::machines::test::Nudge, 0, id, by)
TROUPE_DESCRIBE(troupe::machines::test::TooLate, 0)
TROUPE_DESCRIBE(troupe::machines::test::Half, 0, percent)
TROUPE_DESCRIBE(troupe::machines::test::Abandon, 0)
TROUPE_DESCRIBE(troupe::machines::test::AskAgain, 0)
TROUPE_DESCRIBE(troupe::machines::test::Prepare, 0, id)
TROUPE_DESCRIBE(troupe::machines::test::Finished, 0, id)
TROUPE_DESCRIBE(troupe::machines::test::Measure, 0, what)
TROUPE_MACHINE(troupe::machines::test::Errand, 1, id, sum, phase)

namespace troupe::machines::test {

/// A service of errands under /errands, which has found these documents, and a probe for their peer, which agrees to
/// all.
class ErrandNode {
 public:
  explicit ErrandNode(const std::vector<bson::Document>& found = {}, ServiceLimits limits = {}, Duration storage = {}) {
    store.delay(kit.time(), storage);
    peer.alwaysAnswer<Prepare>([](const Prepare&) { return Agreed{}; });
    for (const auto& document : found) store.set(document);
    HostOptions<Errand> options;
    options.perform = [this](Actor&, Action action, Doing<Errand::Event> doing) {
      return measure(std::move(action), std::move(doing));
    };
    service = kit.service<Errand>("/errands", options, limits);
  }

  using Action = ActionOf<Errand>;
  Task<StatusWith<std::optional<Errand::Event>>> measure(Action action, Doing<Errand::Event> doing) {
    measured.push_back(std::get<Measure>(action).what);
    underWay.push_back(doing);
    if (!measureFails.empty()) {
      Status failure = measureFails.front();
      measureFails.pop_front();
      co_return failure;
    }
    if (measuring) {
      Promise<Done> cancelled;
      auto ended = cancelled.future();
      auto shared = std::make_shared<Promise<Done>>(std::move(cancelled));
      doing.wakeOnCancel([shared] { shared->set(Done{}); });
      co_await ended;
      co_return std::optional<Errand::Event>(Ready{"after it was cancelled"});
    }
    co_return std::optional<Errand::Event>(Ready{"me"});
  }

  probe::Question begin(std::string id, bool untilEnd = false) {
    return kit.ask(service, StartMachine<Errand>{{.id = std::move(id)}, untilEnd});
  }
  std::string phaseOf(const std::string& id) const { return kit.phase("/errands/" + id); }

  std::vector<std::string> measured;
  std::vector<Doing<Errand::Event>> underWay;  ///< in the order in which they were begun
  std::deque<Status> measureFails;
  bool measuring = false;  ///< actions do not come to an end
  probe::TestKit kit{"n1"};
  probe::MemoryStore& store = kit.store("/errands");
  probe::Probe peer = kit.probe("/peer");
  Address service;
};

}  // namespace troupe::machines::test
