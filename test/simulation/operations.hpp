#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test/checkers/linearizability.hpp"
#include "test/checkers/list_append.hpp"
#include "test/simulation/driver.hpp"

namespace troupe::sim {

// What sessions do with a data node, and what is recorded of it. What was read counts as read only once it is durable:
// another node's crash may take back what was not, and read concern `local` does not promise otherwise.

/// What makes an answer one that no fault takes back.
struct Safety {
  std::string write = R"({"j": true})";  ///< the write concern
  /// The read concern by which a read sees nothing else; empty: it reads the newest data, and then waits for a write
  /// of its own to be safe.
  std::string read;
  /// How writes are sent.
  Driver::Retry writes = Driver::Retry::kNever;
  static Safety ofNode() { return {}; }
  static Safety ofSet() { return {R"({"w": "majority"})", R"({"level": "linearizable"})", Driver::Retry::kNumbered}; }
};

/// Waits until all that was committed so far is durable: a journaled write does.
Task<checkers::Outcome> untilAllIsDurable(Driver& driver);

/// Registers are documents {_id: key, v: value} of test.registers.
class Registers {
 public:
  explicit Registers(Safety safety = Safety::ofNode()) : safety_(std::move(safety)) {}
  /// Carries out one operation, and records it. `torn`: a compare-and-set is a find and then an update, which is wrong.
  Task<checkers::Outcome> run(Driver& driver, int process, checkers::RegisterOperation operation, bool torn);

  int64_t newValue() { return ++lastValue_; }
  /// What was last known of the register: a good guess for a compare-and-set.
  std::optional<int64_t> known(const std::string& key) const;
  const checkers::History<checkers::RegisterOperation>& history() const { return history_; }

 private:
  Task<checkers::Outcome> read(Driver& driver, checkers::RegisterOperation& operation);
  Task<checkers::Outcome> write(Driver& driver, const checkers::RegisterOperation& operation);
  Task<checkers::Outcome> compareAndSet(Driver& driver, checkers::RegisterOperation& operation);
  Task<checkers::Outcome> tornCompareAndSet(Driver& driver, checkers::RegisterOperation& operation);

  const Safety safety_;
  checkers::History<checkers::RegisterOperation> history_;
  std::map<std::string, std::optional<int64_t>> known_;
  int64_t lastValue_ = 0;
};

/// Lists are documents {_id: key, items: [...]} of test.lists.
class Lists {
 public:
  explicit Lists(Safety safety = Safety::ofNode()) : safety_(std::move(safety)) {}
  enum class Kind { kAppend, kAppendAndRead, kFind, kAggregate };
  /// Carries out one transaction, and records it: an update, a findAndModify, or a read of several lists in one
  /// snapshot.
  Task<checkers::Outcome> run(Driver& driver, int process, Kind kind, std::vector<std::string> keys);

  const checkers::History<checkers::ListTransaction>& history() const { return history_; }

 private:
  Task<checkers::Outcome> append(Driver& driver, const checkers::ListStep& step);
  Task<checkers::Outcome> appendAndRead(Driver& driver, checkers::ListTransaction& transaction);
  Task<checkers::Outcome> read(Driver& driver, Kind kind, checkers::ListTransaction& transaction);

  const Safety safety_;
  checkers::History<checkers::ListTransaction> history_;
  int64_t lastValue_ = 0;
};

/// Items are documents {_id, x, tag} of test.items, which has an index on x. Each is one session's at a time, so that
/// it is known of each whether it must be there.
class Items {
 public:
  explicit Items(Safety safety = Safety::ofNode()) : safety_(std::move(safety)) {}
  struct Item {
    bool isCertain = true;  ///< false: nobody knows any more, and it is left alone
    bool isThere = false;
    bool isBusy = false;
    int64_t x = 0;
  };
  enum class Kind { kInsert, kUpdate, kRemove };
  /// `safe`: waits until it is so; otherwise a crash may take it back. `chance` selects the item.
  Task<checkers::Outcome> run(Driver& driver, Kind kind, bool safe, uint64_t chance);

  /// How many may have been there at once, at most.
  int64_t mostThere() const { return mostThere_; }
  /// What contradicts what was acknowledged; empty if nothing does.
  std::string compare(const std::vector<bson::Document>& found) const;

 private:
  const Safety safety_;
  std::map<int64_t, Item> items_;
  int64_t mostThere_ = 0;
};

}  // namespace troupe::sim
