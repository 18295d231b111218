#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "test/simulation/driver.hpp"

namespace troupe::sim {

inline constexpr const char* kBankHolds = "a bank whose accounts do not add up";

/// What the accounts of a bank may hold. An account is a document {_id, balance, moves: [{t, by}]}: all that ever
/// moved, by the number of its transfer. A transfer takes from one account, and once a majority has that, gives to
/// another: of the two documents a committed state shows none, the first or both, and never the second alone. So the
/// balances and what is under way add up to what there was, in every state that a majority read shows.
class BankLedger {
 public:
  struct Transfer {
    std::string from, to;
    int64_t amount = 0;
    bool mayBeTaken = false, mayBeGiven = false;  ///< it was asked for, and not certainly refused
    bool isTaken = false, isGiven = false;        ///< a majority has acknowledged it
    bool wasTaken = false, wasGiven = false;      ///< a majority read has shown it
  };
  static constexpr int64_t kAtFirst = 100;  ///< on each account

  int64_t begin(std::string from, std::string to, int64_t amount);
  Transfer& of(int64_t transfer) { return transfers_.at(transfer); }
  const Transfer& of(int64_t transfer) const { return transfers_.at(transfer); }
  /// How many moves of each transfer have to be shown.
  using Least = std::map<int64_t, size_t>;
  /// Those that are acknowledged: a read that is told to come after them has to show them.
  Least acknowledged() const;
  /// A majority read of all accounts, in one state: what is wrong with it, or what it lacks of `least`. Empty: nothing.
  /// What it shows has to be there in the end.
  std::string shown(const std::vector<bson::Document>& accounts, const Least& least);
  /// The same of what is left in the end.
  std::string left(const std::vector<bson::Document>& accounts);

 private:
  struct Move {
    std::string account;
    int64_t by = 0;
  };
  using Moves = std::map<int64_t, std::vector<Move>>;
  static std::string read(const std::vector<bson::Document>& accounts, Moves& moves);
  std::string judge(int64_t number, const std::vector<Move>& moves);

  std::map<int64_t, Transfer> transfers_;
};

/// Transfers between accounts of test.bank by a findAndModify and an update, and majority reads of all accounts, from
/// the primary and from any member.
class Bank {
 public:
  enum class Kind { kTransfer, kTransferOfMuch, kReadOfPrimary, kReadOfMember };
  static constexpr std::array<const char*, 4> kKinds{"transfers", "transfers of much",
                                                     "majority reads of the bank from the primary",
                                                     "majority reads of the bank from a member"};
  static constexpr const char* kCollection = "bank";
  /// The accounts as they are before the first transfer.
  static std::vector<bson::Document> accounts();

  /// One session's way to its servers.
  struct Drivers {
    Driver& primary;
    Driver& anyMember;
  };
  /// `torn`, for tests of the check: the other account is given to before the first is taken from.
  Task<checkers::Outcome> run(Drivers drivers, Kind kind, uint64_t chance, bool torn);

  /// What an answer has contradicted; empty: none has.
  const std::string& broken() const { return broken_; }
  /// What the accounts contradict in the end; empty if they do not.
  std::string compare(const std::vector<bson::Document>& accounts) { return ledger_.left(accounts); }

 private:
  Task<checkers::Outcome> transfer(Driver& driver, bool ofMuch, uint64_t chance, bool torn);
  Task<checkers::Outcome> take(Driver& driver, int64_t number);
  Task<checkers::Outcome> give(Driver& driver, int64_t number);
  Task<checkers::Outcome> read(Driver& driver, bool afterKnown);
  void learnTimes(const DriverReply& reply);
  void complain(const std::string& why) {
    if (broken_.empty()) broken_ = why;
  }

  BankLedger ledger_;
  bson::Document times_;  ///< {operationTime, $clusterTime} of the latest acknowledged write
  std::string broken_;
};

}  // namespace troupe::sim
