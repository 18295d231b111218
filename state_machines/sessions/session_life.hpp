#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"

namespace troupe::sessions {

/// Stands for a number (of a transaction, a statement) that is not there.
inline constexpr int64_t kNoNumber = -1;
inline constexpr int32_t kNoStatement = -1;

// What a family of sessions hears. `operation` is a number that the catalog gives an operation for one check-out; no
// two have the same. `child` names a session of the family: empty for the parent, else its txnUUID (and txnNumber).
// `now` is the node's time in nanoseconds.

/// An operation wants a session of the family.
struct CheckOutWanted {
  int64_t operation = 0;
  std::string child;
  int64_t retryOf = kNoNumber;  ///< the txnNumber in a child's id: the retryable write of the parent that it belongs to
  int64_t now = 0;
};
/// The operation that has the family needs what its session has done, as a primary of that term.
struct HistoryWanted {
  int64_t operation = 0;
  int64_t term = 0;
};
/// It has been read from the records and the log.
struct HistoryRead {
  int64_t operation = 0;
};
/// The operation begins a retryable write, or a part of one in a child.
struct NumberBegun {
  int64_t operation = 0;
  int64_t number = 0;            ///< of the parent
  int64_t recorded = kNoNumber;  ///< the highest one in the family's records, where they had to be read
};
/// The operation is over.
struct CheckedIn {
  int64_t operation = 0;
  int32_t lastStatement = kNoStatement;  ///< of its session under its number; none: it has executed no statement
  bool isLarge = false;                  ///< its session has done so much that it is better read again than remembered
  int64_t now = 0;
};
/// An operation does not wait any more: it was killed, its time is over, its client is gone, or its frame is.
struct GaveUp {
  int64_t operation = 0;
  int64_t now = 0;
};
/// Somebody kills the session; of a child: the whole family, whose operation has all of it (SES-003).
struct Killed {};
/// Somebody has edited or dropped the records, or a rollback has changed them (SES-013).
struct Invalidated {};
/// The family may be forgotten if it has not been checked out since.
struct ReapWanted {
  int64_t unusedSince = 0;
};

// What the catalog does for it.

struct Grant {
  int64_t operation = 0;
};
/// What is remembered of the session holds: go on with it.
struct UseHistory {
  int64_t operation = 0;
};
struct ReadHistory {
  int64_t operation = 0;
};
/// The number may begin.
struct BeginNumber {
  int64_t operation = 0;
};
/// A later number has begun before (TransactionTooOld).
struct RefuseNumber {
  int64_t operation = 0;
};
/// The operation that has the family is told to end (Interrupted).
struct EndOperation {
  int64_t operation = 0;
};
/// A waiting operation is told to end (Interrupted).
struct EndWaiter {
  int64_t operation = 0;
};
/// Nothing of that session is remembered any more.
struct Forget {
  std::string child;
};
/// The child is over, and a later number of its parent has a record, which says so to those who read it. The child's
/// own records may go (SES-012).
struct ReapRecords {
  std::string child;
};

/// The life of a family of sessions on one node: the parent {id, uid}, which clients use, and its children
/// {id, uid, txnNumber, txnUUID}, which servers make for their internal transactions (SES-002). One operation at a time
/// has the family, whichever session of it it asked for; the others wait in the order in which they came (SES-010).
/// docs/protocols/sessions.md tells it as a story.
///
/// Nothing of it is persisted: the records of the sessions and the log say what they have done, and what is remembered
/// of that holds for one term and until the next edit. A crash, or being forgotten, costs a reading.
///
/// `on` decides in place, so that an uncontended check-out costs its caller no copy of the machine; the rows of the
/// table are made of the same functions. An event without a row for the phase changes nothing.
struct SessionLife : machines::Machine<SessionLife> {
  static constexpr const char* kName = "session-life";
  /// Children of which something is remembered at a time; the one unused for longest gives way to the next.
  static constexpr size_t kMostChildren = 100;

  enum class Phase : int32_t { kFree, kTaken, kEnding, kReaped };
  static constexpr auto kPhases = machines::phases<Phase>(
      {{Phase::kFree, "free", "no operation has the family, and none waits for it"},
       {Phase::kTaken, "taken", "one operation has the family, the others wait"},
       {Phase::kEnding, "ending",
        "the operation that has it was told to end: by a kill, or as its history was changed"},
       {Phase::kReaped, "reaped", "the catalog forgets the family; who comes next begins another one"}});

  struct Document {
    std::string id = "session";
    bool operator==(const Document&) const = default;
  };

  /// A session of the family, and whether what is remembered of it holds.
  struct Member {
    std::string child;
    bool isKnown = false;
    int64_t term = 0, edits = 0;  ///< as of which it was read
    int64_t retryOf = kNoNumber;
    bool operator==(const Member&) const = default;
  };
  struct Waiter {
    int64_t operation = 0;
    std::string child;
    int64_t retryOf = kNoNumber;
    int64_t place = 0;  ///< how many came before it
    bool operator==(const Waiter&) const = default;
  };
  /// The operation that has the family; the default: none has.
  struct Holder {
    int64_t operation = 0;
    std::string child;
    bool usesHistory = false;
    int64_t number = kNoNumber;   ///< of the parent, that it has begun
    int64_t term = 0, edits = 0;  ///< for which it wanted its history; term 0: it has not
    int64_t retryOf = kNoNumber;
    int64_t place = 0;
    bool operator==(const Holder&) const = default;
  };
  struct Memory {
    Phase phase = Phase::kFree;
    Holder holder;
    std::vector<Waiter> waiters;     ///< in their order
    std::vector<Member> members;     ///< the one used last at the end
    std::vector<Member> over;        ///< children of older numbers, whose records wait for that of a later number
    int64_t arrivals = 0;            ///< operations that came so far
    int64_t endedBefore = 0;         ///< of those that came before that one the last kill has told all to end
    int64_t edits = 0;               ///< of the records, by others, and kills
    int64_t kills = 0;               ///< that the operation which has the family was told of and has not answered yet
    int64_t term = 0;                ///< the latest in which it was used
    int64_t number = kNoNumber;      ///< the highest that has begun in this term, since the last edit
    int64_t lastNumber = kNoNumber;  ///< for people: the last that has begun
    int32_t lastStatement = kNoStatement;  ///< for people: under that number, on the parent
    int64_t lastUse = 0;                   ///< the last check-out, of any session of the family
    bool operator==(const Memory&) const = default;
  };

  using Event = std::variant<CheckOutWanted, HistoryWanted, HistoryRead, NumberBegun, CheckedIn, GaveUp, Killed,
                             Invalidated, ReapWanted>;
  using Action = std::variant<Grant, UseHistory, ReadHistory, BeginNumber, RefuseNumber, EndOperation, EndWaiter,
                              Forget, ReapRecords>;
  /// Nearly always one or none, which takes no allocation.
  using Actions = boost::container::small_vector<Action, 2>;

  static Actions on(Memory& memory, const CheckOutWanted& wish);
  static Actions on(Memory& memory, const HistoryWanted& wish);
  static Actions on(Memory& memory, const HistoryRead& done);
  static Actions on(Memory& memory, const NumberBegun& begun);
  static Actions on(Memory& memory, const CheckedIn& end);
  static Actions on(Memory& memory, const GaveUp& end);
  static Actions on(Memory& memory, const Killed& kill);
  static Actions on(Memory& memory, const Invalidated& edit);
  static Actions on(Memory& memory, const ReapWanted& wish);

  static const machines::Transitions<SessionLife>& transitions();
  /// It begins as one of which nothing is remembered.
  static machines::Step<SessionLife> resume(const Document& document);
  static std::vector<machines::Invariant> invariants();
};

/// Whether nobody has the family, nobody waits for it, and it was last checked out before that.
bool mayBeReaped(const SessionLife::Memory& memory, int64_t unusedSince);

}  // namespace troupe::sessions

TROUPE_DESCRIBE(troupe::sessions::CheckOutWanted, 0, operation, child, retryOf, now)
TROUPE_DESCRIBE(troupe::sessions::HistoryWanted, 0, operation, term)
TROUPE_DESCRIBE(troupe::sessions::HistoryRead, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::NumberBegun, 0, operation, number, recorded)
TROUPE_DESCRIBE(troupe::sessions::CheckedIn, 0, operation, lastStatement, isLarge, now)
TROUPE_DESCRIBE(troupe::sessions::GaveUp, 0, operation, now)
TROUPE_DESCRIBE(troupe::sessions::Killed, 0)
TROUPE_DESCRIBE(troupe::sessions::Invalidated, 0)
TROUPE_DESCRIBE(troupe::sessions::ReapWanted, 0, unusedSince)
TROUPE_DESCRIBE(troupe::sessions::Grant, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::UseHistory, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::ReadHistory, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::BeginNumber, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::RefuseNumber, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::EndOperation, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::EndWaiter, 0, operation)
TROUPE_DESCRIBE(troupe::sessions::Forget, 0, child)
TROUPE_DESCRIBE(troupe::sessions::ReapRecords, 0, child)
TROUPE_DESCRIBE(troupe::sessions::SessionLife::Member, 0, child, isKnown, term, edits, retryOf)
TROUPE_DESCRIBE(troupe::sessions::SessionLife::Waiter, 0, operation, child, retryOf, place)
TROUPE_DESCRIBE(troupe::sessions::SessionLife::Holder, 0, operation, child, usesHistory, number, term, edits, retryOf,
                place)
TROUPE_DESCRIBE(troupe::sessions::SessionLife::Memory, 0, phase, holder, waiters, members, over, arrivals, endedBefore,
                edits, kills, term, number, lastNumber, lastStatement, lastUse)
TROUPE_MACHINE(troupe::sessions::SessionLife, 1, id)
