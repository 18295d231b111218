#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/oplog/oplog_entry.hpp"

namespace troupe::storage {

// Commands as entries of kind `c` tell them. Each says how its `o` and, after a semicolon, its `o2` look; collections
// are named without their database, and the entry's `ui` is that of the collection.

/// {create: name, options..., idIndex: spec}
struct LoggedCreate {
  std::string collection;
  bson::Document options;                 ///< as listCollections shows them; also a view's
  std::optional<bson::Document> idIndex;  ///< of the `_id` index; none for views and clustered collections
};

/// {drop: name}; {numRecords: n}
struct LoggedDrop {
  std::string collection;
  std::optional<int64_t> records;  ///< documents that go with it
};

/// {renameCollection: "db.from", to: "db.to", stayTemp: false, dropTarget: UUID}; {numRecords: n}
struct LoggedRename {
  std::string from, to;  ///< with their databases
  bool stayTemp = false;
  std::optional<bson::Uuid> dropTarget;  ///< the collection that had the new name and goes
  std::optional<int64_t> records;        ///< documents that go with it
};

/// {collMod: name, changes...}; {collectionOptions_old: {...}}
struct LoggedModify {
  std::string collection;
  bson::Document change;  ///< as the command was asked for it
  std::optional<bson::Document> optionsBefore;
};

/// {dropDatabase: 1}
struct LoggedDropDatabase {};

/// {createIndexes: name, v, key, name, ...}: one index of a collection without documents.
struct LoggedCreateIndex {
  std::string collection;
  bson::Document spec;
};

/// {startIndexBuild | commitIndexBuild | abortIndexBuild: name, indexBuildUUID, indexes: [spec], cause: {...}}
struct LoggedIndexBuild {
  enum class Step : uint8_t { kStart, kCommit, kAbort };
  Step step = Step::kStart;
  std::string collection;
  bson::Uuid build;
  std::vector<bson::Document> specs;
  std::optional<bson::Document> cause;  ///< of an abort: {ok: false, code, codeName, errmsg}
};

/// {dropIndexes: name, index: name of the index}; its spec
struct LoggedDropIndex {
  std::string collection;
  std::string index;
  bson::Document spec;
};

/// {emptycapped: name}: all documents at once.
struct LoggedTruncate {
  std::string collection;
};

/// {applyOps: [operation, ...]}: operations that take effect together, none of them a group (OPL-013).
struct LoggedGroup {
  std::vector<bson::Document> operations;
};

using LoggedCommand = std::variant<LoggedCreate, LoggedDrop, LoggedRename, LoggedModify, LoggedDropDatabase,
                                   LoggedCreateIndex, LoggedIndexBuild, LoggedDropIndex, LoggedTruncate, LoggedGroup>;

/// `o` and `o2` of a command's entry.
struct CommandObjects {
  bson::Document object;
  std::optional<bson::Document> other;
};
CommandObjects encode(const LoggedCommand& command);

/// The namespace of a command's entry: "db.$cmd".
std::string commandNamespace(std::string_view db);

/// The command of an operation of kind `c`, read strictly. Errors: FailedToParse, with what is wrong; CommandNotFound.
StatusWith<LoggedCommand> parseCommand(const LoggedOperation& operation);

}  // namespace troupe::storage
