#include "test/simulation/schema_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "messaging/bson/json.hpp"

namespace troupe::sim {

using checkers::Outcome;

namespace {

constexpr size_t kFewestCollections = 3;
constexpr std::array<const char*, 3> kLevels{"off", "moderate", "strict"};
constexpr const char* kSafely = R"("writeConcern": {"w": "majority"})";

struct IndexToMake {
  const char* name;
  const char* key;
};
constexpr std::array<IndexToMake, 3> kOwnIndexes{
    {{"a_1", R"({"a": 1})"}, {"tags_1", R"({"tags": 1})"}, {"a_-1_tags_1", R"({"a": -1, "tags": 1})"}}};
constexpr std::array<IndexToMake, 2> kSharedIndexes{
    {{"tag_1", R"({"tag": 1})"}, {"x_1_tag_1", R"({"x": 1, "tag": 1})"}}};

bson::Document changeCommand(const std::string& fields) {
  return bson::fromJson(fmt::format("{{{}, {}}}", fields, kSafely)).value();
}

/// What the answer says of the change. A primary that is behind, and does not know it, refuses what it has no
/// collection or index for, or an index that it has hidden; the build of an index may be given up by the next primary.
Outcome outcomeOfChange(const std::string& kind, const DriverReply& reply, std::string* unexplained) {
  constexpr std::array kRefused{ErrorCode::kNamespaceNotFound, ErrorCode::kIndexNotFound,
                                ErrorCode::kIndexOptionsConflict};
  constexpr std::array kGivenUp{ErrorCode::kIndexBuildAborted, ErrorCode::kInterrupted};
  const auto isOne = [&](ErrorCode code) { return reply.status == code; };
  if (std::ranges::any_of(kRefused, isOne)) return Outcome::kFailed;
  if (std::ranges::any_of(kGivenUp, isOne)) return Outcome::kUnknown;
  if (!reply.isExplained) *unexplained = kind + ": " + reply.status.toString();
  const bool mayHaveBegun = kind == "createIndexes" && !reply.mayPass;
  if (reply.outcome == Outcome::kFailed && mayHaveBegun) return Outcome::kUnknown;
  return reply.outcome;
}

const bson::Document* rowNamed(const std::vector<bson::Document>& rows, const char* field, const std::string& name) {
  const auto found = std::ranges::find_if(rows, [&](const auto& row) { return row[field].toStringOr() == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::string compareIndexesOf(const SchemaChanges::Made& made, const bson::Document& row, bool alone) {
  std::vector<bson::Document> indexes;
  for (const bson::Element& e : row["indexes"].asArray()) indexes.emplace_back(e.asDocument());
  for (const auto& [name, hidden] : made.indexes) {
    const bson::Document* index = rowNamed(indexes, "name", name);
    if (!index) return fmt::format("the index {} was made and is not there", name);
    if ((*index)["hidden"].truthy() != hidden) return fmt::format("the index {} is not as it was changed", name);
  }
  for (const bson::Document& index : indexes) {
    const std::string name(index["name"].toStringOr());
    const bool isOthers = name == "_id_" || (!alone && name == "x_1");
    if (!isOthers && !made.indexes.contains(name)) return fmt::format("the index {} was dropped and is there", name);
  }
  return {};
}

std::string compareDocumentsOf(const SchemaChanges::Made& made, const std::vector<bson::Document>& found) {
  std::set<int64_t> there;
  for (const bson::Document& document : found) there.insert(document["_id"].toInt64());
  if (there == made.documents) return {};
  return fmt::format("has {} documents, and {} were acknowledged", there.size(), made.documents.size());
}

}  // namespace

SchemaChanges::Change SchemaChanges::create(uint64_t chance) {
  Change change{
      .kind = "create", .collection = newName(), .database = "test", .command = {}, .renamedTo = {}, .after = {}};
  change.after.isThere = true;
  change.after.validationLevel = kLevels[chance % kLevels.size()];
  change.command =
      changeCommand(fmt::format(R"("create": "{}", "validator": {{"a": {{"$gte": 0}}}}, "validationLevel": "{}")",
                                change.collection, change.after.validationLevel));
  return change;
}

SchemaChanges::Change SchemaChanges::choose(uint64_t chance) {
  std::vector<std::string> free;
  for (const auto& [name, made] : made_)
    if (made.isCertain && made.isThere && !made.isBusy) free.push_back(name);
  const bool isFew = free.size() < kFewestCollections;
  Change change =
      isFew || chance % 8 == 0 ? create(chance / 8) : changeOf(free[chance / 8 % free.size()], chance / 128);
  made_[change.collection].isBusy = true;
  return change;
}

SchemaChanges::Change SchemaChanges::changeOf(const std::string& collection, uint64_t chance) {
  const Made& made = made_.at(collection);
  const bool isShared = collection == kShared;
  Change change{
      .kind = {}, .collection = collection, .database = "test", .command = {}, .renamedTo = {}, .after = made};
  std::string fields;
  const auto make = [&](const IndexToMake& index) {
    change.kind = "createIndexes";
    fields = fmt::format(R"("createIndexes": "{}", "indexes": [{{"name": "{}", "key": {}}}])", collection, index.name,
                         index.key);
    change.after.indexes.emplace(index.name, made.indexes.contains(index.name) && made.indexes.at(index.name));
  };
  const uint64_t kind = chance % 12, rest = chance / 12;
  if (kind < 3) {
    if (isShared) make(kSharedIndexes[rest % kSharedIndexes.size()]);
    else make(kOwnIndexes[rest % kOwnIndexes.size()]);
  } else if (kind < 6 && !made.indexes.empty()) {
    const auto& [name, hidden] = *std::next(made.indexes.begin(), static_cast<int64_t>(rest % made.indexes.size()));
    if (kind == 5) {
      change.kind = "collMod of an index";
      fields = fmt::format(R"("collMod": "{}", "index": {{"name": "{}", "hidden": {}}})", collection, name, !hidden);
      change.after.indexes[name] = !hidden;
    } else {
      change.kind = "dropIndexes";
      fields = fmt::format(R"("dropIndexes": "{}", "index": "{}")", collection, name);
      change.after.indexes.erase(name);
    }
  } else if (kind == 6 && !isShared) {
    change.kind = "collMod";
    change.after.validationLevel = kLevels[rest % kLevels.size()];
    fields = fmt::format(R"("collMod": "{}", "validationLevel": "{}")", collection, change.after.validationLevel);
  } else if (kind == 7 && !isShared) {
    change.kind = "renameCollection";
    change.renamedTo = newName();
    change.database = "admin";
    fields = fmt::format(R"("renameCollection": "test.{}", "to": "test.{}")", collection, change.renamedTo);
  } else if (kind == 8 && !isShared) {
    change.kind = "drop";
    fields = fmt::format(R"("drop": "{}")", collection);
    change.after = {};
  } else if (!isShared) {
    const int64_t id = ++lastDocument_;
    change.kind = "inserts into a collection that changes";
    fields = fmt::format(R"("insert": "{}", "documents": [{{"_id": {}, "a": {}, "tags": [{}, {}]}}])", collection, id,
                         rest % 5, rest % 3, rest % 7);
    change.after.documents.insert(id);
  } else {
    make(kSharedIndexes[rest % kSharedIndexes.size()]);
  }
  change.command = changeCommand(fields);
  return change;
}

void SchemaChanges::learn(const Change& change, Outcome outcome) {
  Made& made = made_[change.collection];
  made.isBusy = false;
  if (outcome == Outcome::kFailed) return;
  if (outcome == Outcome::kUnknown) {
    made.isCertain = false;
    if (!change.renamedTo.empty()) made_[change.renamedTo].isCertain = false;
    return;
  }
  Made after = change.after;
  after.isCertain = true;
  after.isBusy = false;
  if (change.renamedTo.empty()) {
    made = std::move(after);
  } else {
    made = {};
    made_[change.renamedTo] = std::move(after);
  }
}

Task<std::pair<Outcome, std::string>> SchemaChanges::run(Driver& driver, uint64_t chance, std::string* kind) {
  const Change change = choose(chance);
  *kind = change.kind;
  const DriverReply reply = co_await driver.run(change.database, change.command, Driver::Retry::kNever);
  std::string unexplained;
  const Outcome outcome = outcomeOfChange(change.kind, reply, &unexplained);
  learn(change, outcome);
  co_return std::pair(outcome, unexplained);
}

std::string SchemaChanges::compare(const std::vector<bson::Document>& catalog,
                                   const std::map<std::string, std::vector<bson::Document>>& holds) const {
  for (const auto& [name, made] : made_) {
    if (!made.isCertain || made.isBusy) continue;
    const bson::Document* row = rowNamed(catalog, "_id", name);
    if (!made.isThere && row) return fmt::format("the collection {} was dropped or renamed and is there", name);
    if (!made.isThere) continue;
    if (!row) return fmt::format("the collection {} was made and is not there", name);
    const bool alone = name != kShared;
    std::string why = compareIndexesOf(made, *row, alone);
    const std::string level(row->view().at("options.validationLevel").toStringOr());
    if (why.empty() && alone && level != made.validationLevel) why = "validation is not as it was changed";
    const auto documents = holds.find("test." + name);
    if (why.empty() && alone && documents != holds.end()) why = compareDocumentsOf(made, documents->second);
    if (!why.empty()) return fmt::format("{}: {}", name, why);
  }
  for (const bson::Document& row : catalog) {
    const std::string name(row["_id"].toStringOr());
    if (name.starts_with(kPrefix) && !made_.contains(name)) return fmt::format("nobody made the collection {}", name);
  }
  return {};
}

}  // namespace troupe::sim
