#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::sim {

/// What one counter may have held, by what its session was told: the states that it certainly had, and each way in
/// which it may have gone on from the last of them, for operations without an answer may have been carried out or not.
/// Each operation leaves its number and its time in the document, so that what is read tells how far the counter had
/// come, and whether that is lasting. A complaint is empty where what is told is possible.
class CounterModel {
 public:
  /// The document {_id, n, by, at}; none: it is missing, and the counter stands at 0. `at` is different each time that
  /// the operation is carried out.
  struct Document {
    int64_t n = 0, by = 0;
    uint64_t at = 0;
    bool operator==(const Document& other) const { return n == other.n && by == other.by; }
  };
  using Found = std::optional<Document>;
  enum class Tells { kNothing, kBefore, kAfter };

  /// The operation is sent: from now on it may have been carried out. `number` is higher than those before it.
  void begin(int64_t number, bool removes);
  /// It was certainly not carried out, and never will be.
  std::string failed(int64_t number);
  /// It was carried out, for good; `told` is the document that it answered with.
  std::string done(int64_t number, Tells tells, const Found& told);
  /// A read of committed data has shown this, `least` being the operation whose effect it had to show at least: what
  /// was shown is never taken back.
  std::string shown(const Found& found, int64_t least);
  /// What is there when nothing is on its way any more.
  std::string left(const Found& found);

  /// So many operations have no answer that nothing more should be asked before something is known.
  bool isVague() const { return ways_.size() > 64; }

 private:
  struct State {
    int64_t number = 0;  ///< of the operation that has led here
    Found found;
    bool operator==(const State&) const = default;
  };
  using Way = std::vector<State>;

  /// Keeps the ways for which `holds`; false, and all are kept, if there is none.
  template <class Holds>
  bool keep(Holds holds);
  void forgetTrunk();
  void forgetBranches();
  /// A majority has this; what it has was carried out once.
  std::string remember(const Found& found);
  static std::string name(const Found& found);
  std::string possible() const;

  std::vector<State> past_;            ///< that it may have had before the first of `ways_`
  std::vector<Way> ways_{{State{}}};   ///< all begin with the same state
  std::map<int64_t, uint64_t> times_;  ///< of operations that a majority has, by number
};

}  // namespace troupe::sim
