#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/description/description.hpp"

namespace troupe {

/// One step of a machine as it was carried out on this node: the message that came, the phases before and after, and
/// the messages that went out for it.
struct TransitionRecord {
  bson::Date at;
  std::string path;      ///< of the actor that carries the machine out
  std::string machine;   ///< its kind
  std::string instance;  ///< which one of that kind: the `_id` of its document, as paths show it
  std::string event;     ///< "resumed": it began, or was taken up from its document
  std::string cause;     ///< node and path of the sender of the event; empty: a timer, an action, or the node itself
  std::string from, to;  ///< phases; `to` is empty when the machine ended
  int64_t revision = 0;  ///< of the document that was written for it; 0: none was
  std::vector<std::string> effects;  ///< in their order: "send Vote to b:27017"
  std::string outcome;               ///< the error with which the machine or its actor ended

  /// A step that changed the phase or the document, or was the last one; the others only handled a message.
  bool isMove() const { return revision > 0 || from != to || !outcome.empty(); }
};

/// Selects records. Empty fields do not filter.
struct TransitionFilter {
  std::string under = {};  ///< this path and all below it
  std::string machine = {}, instance = {};
  bool movesOnly = false;
  size_t limit = 100;
};

/// The steps that the machines of a node took, also of those that have ended, so that operators can see afterwards what
/// became of a coordinator. Bounded: of each actor the newest moves and the newest other steps, and of the actors
/// those that did something last. A keeper may write moves to disk and bring back those of earlier lives of the node.
/// Thread-safe; a record costs its machine some hundred nanoseconds.
class TransitionLog {
 public:
  static constexpr size_t kMovesOfAnActor = 64, kOthersOfAnActor = 32;
  static constexpr size_t kRecords = 16'384;   ///< of all actors
  static constexpr size_t kUnwritten = 4'096;  ///< moves that wait for the keeper
  static constexpr size_t kLongestText = 200;  ///< bytes of a name, an effect or an outcome
  static constexpr size_t kMostEffects = 16;   ///< the last text counts those beyond it

  void add(TransitionRecord record);
  /// Newest first.
  std::vector<TransitionRecord> find(const TransitionFilter& filter) const;

  /// From now on moves wait for `takeUnwritten`; `wake` is called on a machine's thread when the first of them comes,
  /// and must not block.
  void keepWith(std::function<void()> wake);
  /// The keeper ends: nothing waits any more.
  void forgetKeeper();
  std::vector<TransitionRecord> takeUnwritten(size_t most);
  /// Moves that were dropped because the keeper was slower than the machines.
  int64_t dropped() const;
  /// Moves of earlier lives of the node, oldest first; they stand behind all that are here and take no place of theirs.
  /// Only the first call does anything: a keeper that is restarted finds its records here.
  void restore(std::vector<TransitionRecord> records);

 private:
  struct Numbered {
    int64_t number;
    TransitionRecord record;
  };
  struct History {
    std::string path;
    std::deque<Numbered> moves, others;
  };
  using Histories = std::list<History>;

  /// The history of a path, as the one that did something last.
  History& touch(const std::string& path);
  void insert(TransitionRecord record);
  void evict();

  mutable std::mutex mutex_;
  Histories histories_;  ///< the one that did something last comes first
  std::unordered_map<std::string_view, Histories::iterator> byPath_;
  size_t count_ = 0;
  int64_t next_ = 0;  ///< number of the next record; those of earlier lives have negative ones
  bool restored_ = false;
  std::function<void()> wake_;  ///< null: there is no keeper
  std::deque<TransitionRecord> unwritten_;
  int64_t dropped_ = 0;
};

}  // namespace troupe

TROUPE_DESCRIBE(troupe::TransitionRecord, 1, at, path, machine, instance, event, cause, from, to, revision, effects,
                outcome)
