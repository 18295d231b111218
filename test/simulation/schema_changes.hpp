#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"
#include "test/simulation/driver.hpp"

namespace troupe::sim {

/// Collections that are made, renamed, changed and dropped, with indexes that come and go, while others write to
/// test.items, which also gets an index now and then. Each collection is one session's at a time, so that it is known
/// what must be there in the end: what a majority has acknowledged is. Of a change without a certain answer nobody
/// knows when it is carried out; its collection is left alone from then on.
class SchemaChanges {
 public:
  /// One that is known.
  struct Made {
    bool isCertain = true;
    bool isThere = false;
    bool isBusy = false;
    std::map<std::string, bool> indexes;  ///< by name, without _id_: whether it is hidden
    std::set<int64_t> documents;          ///< _ids that were acknowledged
    std::string validationLevel = "strict";
  };
  static constexpr const char* kShared = "items";  ///< whose documents are others'
  static constexpr const char* kPrefix = "ddl";    ///< of the names of all others

  SchemaChanges() { made_[kShared].isThere = true; }

  /// Carries out one change; `kind` gets its name. Errors that no fault explains come back as the second.
  Task<std::pair<checkers::Outcome, std::string>> run(Driver& driver, uint64_t chance, std::string* kind);
  /// What was acknowledged and a member contradicts: `catalog` has rows of MemberFindings::kCatalog, `holds` the
  /// documents by namespace. Empty if nothing does.
  std::string compare(const std::vector<bson::Document>& catalog,
                      const std::map<std::string, std::vector<bson::Document>>& holds) const;

  /// A change of one collection, as it is asked for and what it makes of what is known.
  struct Change {
    std::string kind, collection, database = "test";
    bson::Document command;
    std::string renamedTo;
    Made after;
  };
  /// A change that `chance` chooses among those that can be.
  Change choose(uint64_t chance);
  /// An answer has come.
  void learn(const Change& change, checkers::Outcome outcome);

 private:
  Change changeOf(const std::string& collection, uint64_t chance);
  Change create(uint64_t chance);
  std::string newName() { return kPrefix + std::to_string(++lastName_); }

  std::map<std::string, Made> made_;
  int64_t lastName_ = 0, lastDocument_ = 0;
};

}  // namespace troupe::sim
