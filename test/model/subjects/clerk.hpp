#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "test/model/model.hpp"

/// Machines that rest on promises of the host around them: the planted bugs of the host (HostBug) are shown with them.
namespace troupe::model::clerk {

using machines::Invariant;
using machines::Snapshot;
using machines::Step;
using machines::Transitions;
using machines::World;

inline constexpr const char* kBothNoted = "a clerk is done, and its second question was not noted";
inline constexpr const char* kNothingRemembered = "a call of an earlier life is remembered";

struct First {};
struct Second {};
struct Noted {};
struct Call {};

/// Notes each of two questions, and says so in the same words.
struct Book : machines::Machine<Book> {
  static constexpr const char* kName = "book";
  enum class Phase { kOpen };
  static constexpr auto kPhases = machines::phases<Phase>({{Phase::kOpen, "open", "it notes questions"}});
  struct Document {
    bool first = false, second = false;
    Phase phase = Phase::kOpen;
  };
  using Event = std::variant<First, Second>;
  using Message = std::variant<Noted>;

  static const Transitions<Book>& transitions() {
    static const Transitions<Book> table{anywhere<First>({},
                                                         [](const Document& d, const First&) {
                                                           return stay().with({true, d.second}).then(reply(Noted{}));
                                                         }),
                                         anywhere<Second>({}, [](const Document& d, const Second&) {
                                           return stay().with({d.first, true}).then(reply(Noted{}));
                                         })};
    return table;
  }
  static Step<Book> resume(const Document&) { return stay(); }
  static std::vector<Invariant> invariants() { return {}; }
};

/// Asks two questions, one after the other. Their answers look alike: it relies on hearing each answer once, and in the
/// phase in which it asked.
struct Clerk : machines::Machine<Clerk> {
  static constexpr const char* kName = "clerk";
  enum class Phase { kFirst, kSecond, kDone };
  static constexpr auto kPhases = machines::phases<Phase>({{Phase::kFirst, "first", "the first one is not answered"},
                                                           {Phase::kSecond, "second", "the second one is not"},
                                                           {Phase::kDone, "done", "both are answered"}});
  struct Document {
    NodeName book;
    Phase phase = Phase::kFirst;
  };
  using Event = std::variant<Noted>;
  using Message = std::variant<First, Second>;

  static const Transitions<Clerk>& transitions() {
    static const Transitions<Clerk> table{
        row<Noted>(Phase::kFirst, {Phase::kSecond},
                   [](const Document& d, const Noted&) { return to(Phase::kSecond).then(ask(d.book, Second{})); }),
        row<Noted>(Phase::kSecond, {Phase::kDone}, [](const Document&, const Noted&) { return to(Phase::kDone); })};
    return table;
  }
  static Step<Clerk> resume(const Document& d) {
    if (d.phase == Phase::kFirst) return stay().then(ask(d.book, First{}));
    return d.phase == Phase::kSecond ? stay().then(ask(d.book, Second{})) : stay();
  }
  static std::vector<Invariant> invariants() {
    return {machines::never(kBothNoted, [](const World& world) {
      bool noted = false;  // also while the book's node is down
      world.each<Book>([&](const NodeName&, bool, const auto& book) { noted |= book.document.second; });
      return !noted && world.count<Clerk>([](const auto& clerk) { return clerk.document.phase == Phase::kDone; }) > 0;
    })};
  }
};

/// Counts its lives in its document, and remembers in which of them it was called.
struct Sleeper : machines::Machine<Sleeper> {
  static constexpr const char* kName = "sleeper";
  enum class Phase { kThere };
  static constexpr auto kPhases = machines::phases<Phase>({{Phase::kThere, "there", "it can be called"}});
  struct Document {
    int64_t lives = 0;
    Phase phase = Phase::kThere;
  };
  struct Memory {
    int64_t calledIn = 0;
  };
  using Event = std::variant<Call>;

  static const Transitions<Sleeper>& transitions() {
    static const Transitions<Sleeper> table{anywhere<Call>(
        {}, [](const Document& d, const Memory&, const Call&) { return stay().remembering({d.lives}); })};
    return table;
  }
  static Step<Sleeper> resume(const Document& d) { return stay().with({d.lives + 1}); }
  static std::vector<Invariant> invariants() {
    return {machines::never(kNothingRemembered, [](const World& world) {
      return world.count<Sleeper>([](const auto& now) {
        return now.memory.calledIn != 0 && now.memory.calledIn != now.document.lives;
      }) > 0;
    })};
  }
};

/// A clerk on a, whose book is on b.
inline Model clerkAndBook() {
  Model model;
  model.machine<Clerk>("a", {.book = "b"});
  model.machine<Book>("b", {});
  return model;
}

/// One that is called once, at any time.
inline Model sleeper() {
  Model model;
  model.machine<Sleeper>("a", {});
  model.client<Sleeper>("a", Call{});
  return model;
}

}  // namespace troupe::model::clerk

TROUPE_DESCRIBE(troupe::model::clerk::First, 0)
TROUPE_DESCRIBE(troupe::model::clerk::Second, 0)
TROUPE_DESCRIBE(troupe::model::clerk::Noted, 0)
TROUPE_DESCRIBE(troupe::model::clerk::Call, 0)
TROUPE_DESCRIBE(troupe::model::clerk::Sleeper::Memory, 0, calledIn)
TROUPE_MACHINE(troupe::model::clerk::Book, 1, first, second, phase)
TROUPE_MACHINE(troupe::model::clerk::Clerk, 1, book, phase)
TROUPE_MACHINE(troupe::model::clerk::Sleeper, 1, lives, phase)
