#include "storage/oplog/logged_command.hpp"

#include <algorithm>
#include <array>

#include "storage/oplog/strict_fields.hpp"

namespace troupe::storage {

namespace {

using bson::Type;
using Names = std::vector<std::string_view>;

std::string_view stepName(LoggedIndexBuild::Step step) {
  switch (step) {
    case LoggedIndexBuild::Step::kStart: return "startIndexBuild";
    case LoggedIndexBuild::Step::kCommit: return "commitIndexBuild";
    case LoggedIndexBuild::Step::kAbort: return "abortIndexBuild";
  }
  return {};
}

std::optional<bson::Document> recordsDocument(const std::optional<int64_t>& records) {
  if (!records) return std::nullopt;
  return bson::doc("numRecords", *records);
}

/// `o` and `o2` of each kind of command.
struct Encoder {
  CommandObjects operator()(const LoggedCreate& create) const {
    bson::Builder object;
    object.append("create", create.collection).appendAll(create.options);
    if (create.idIndex) object.append("idIndex", *create.idIndex);
    return {object.finish(), {}};
  }
  CommandObjects operator()(const LoggedDrop& drop) const {
    return {bson::doc("drop", drop.collection), recordsDocument(drop.records)};
  }
  CommandObjects operator()(const LoggedRename& rename) const {
    bson::Builder object;
    object.append("renameCollection", rename.from).append("to", rename.to).append("stayTemp", rename.stayTemp);
    if (rename.dropTarget) object.append("dropTarget", *rename.dropTarget);
    return {object.finish(), recordsDocument(rename.records)};
  }
  CommandObjects operator()(const LoggedModify& modify) const {
    bson::Builder object;
    object.append("collMod", modify.collection).appendAll(modify.change);
    std::optional<bson::Document> other;
    if (modify.optionsBefore) other = bson::doc("collectionOptions_old", *modify.optionsBefore);
    return {object.finish(), std::move(other)};
  }
  CommandObjects operator()(const LoggedDropDatabase&) const { return {bson::doc("dropDatabase", 1), {}}; }
  CommandObjects operator()(const LoggedCreateIndex& create) const {
    bson::Builder object;
    object.append("createIndexes", create.collection).appendAll(create.spec);
    return {object.finish(), {}};
  }
  CommandObjects operator()(const LoggedIndexBuild& build) const {
    bson::Builder object;
    object.append(stepName(build.step), build.collection).append("indexBuildUUID", build.build);
    object.append("indexes", build.specs);
    if (build.cause) object.append("cause", *build.cause);
    return {object.finish(), {}};
  }
  CommandObjects operator()(const LoggedDropIndex& drop) const {
    return {bson::doc("dropIndexes", drop.collection, "index", drop.index), drop.spec};
  }
  CommandObjects operator()(const LoggedTruncate& truncate) const {
    return {bson::doc("emptycapped", truncate.collection), {}};
  }
  CommandObjects operator()(const LoggedGroup& group) const { return {bson::doc("applyOps", group.operations), {}}; }
};

/// The document without the fields of these names.
bson::Document without(bson::View document, const Names& names) {
  bson::Builder rest;
  for (const bson::Element& field : document) {
    if (std::find(names.begin(), names.end(), field.name()) == names.end()) rest.append(field);
  }
  return rest.finish();
}

/// Reads the command of one operation; one function for each.
class CommandParser {
 public:
  explicit CommandParser(const LoggedOperation& operation)
      : operation_(operation),
        what_("command of the oplog: " + std::string(name())),
        fields_(what_, operation.object) {}

  std::string_view name() const { return operation_.object.first().name(); }

  StatusWith<LoggedCommand> parse() const {
    struct Row {
      std::string_view name;
      bool ofCollection;  ///< the entry must have the collection's UUID
      StatusWith<LoggedCommand> (CommandParser::*parse)() const;
    };
    static constexpr std::array<Row, 12> kRows{{{"create", false, &CommandParser::create},  // a view has no UUID
                                                {"drop", false, &CommandParser::drop},
                                                {"renameCollection", true, &CommandParser::rename},
                                                {"collMod", false, &CommandParser::modify},
                                                {"dropDatabase", false, &CommandParser::dropDatabase},
                                                {"createIndexes", true, &CommandParser::createIndex},
                                                {"startIndexBuild", true, &CommandParser::indexBuild},
                                                {"commitIndexBuild", true, &CommandParser::indexBuild},
                                                {"abortIndexBuild", true, &CommandParser::indexBuild},
                                                {"dropIndexes", true, &CommandParser::dropIndex},
                                                {"emptycapped", true, &CommandParser::truncate},
                                                {"applyOps", false, &CommandParser::group}}};
    for (const Row& row : kRows) {
      if (row.name != name()) continue;
      if (row.ofCollection && !operation_.uuid) return fields_.malformed("'ui' is missing");
      return (this->*row.parse)();
    }
    return {ErrorCode::kCommandNotFound, "oplog entry: there is no command '" + std::string(name()) + "'"};
  }

 private:
  StatusWith<LoggedCommand> create() const {
    LoggedCreate create;
    TROUPE_ASSIGN(create.collection, collection());
    TROUPE_ASSIGN(const auto idIndex, fields_.optional("idIndex", Type::kDocument));
    if (idIndex) create.idIndex = bson::Document(idIndex.asDocument());
    create.options = without(operation_.object, {"create", "idIndex"});
    return LoggedCommand(std::move(create));
  }

  StatusWith<LoggedCommand> drop() const {
    LoggedDrop drop;
    TROUPE_TRY(fields_.allowOnly(Names{"drop"}));
    TROUPE_ASSIGN(drop.collection, collection());
    TROUPE_ASSIGN(drop.records, records());
    return LoggedCommand(std::move(drop));
  }

  StatusWith<LoggedCommand> rename() const {
    LoggedRename rename;
    TROUPE_TRY(fields_.allowOnly(Names{"renameCollection", "to", "stayTemp", "dropTarget"}));
    TROUPE_ASSIGN(rename.from, collection());
    TROUPE_ASSIGN(rename.to, fields_.text("to"));
    TROUPE_ASSIGN(const auto stays, fields_.optional("stayTemp", Type::kBool));
    rename.stayTemp = stays && stays.asBool();
    TROUPE_ASSIGN(rename.dropTarget, fields_.uuid("dropTarget"));
    TROUPE_ASSIGN(rename.records, records());
    return LoggedCommand(std::move(rename));
  }

  StatusWith<LoggedCommand> modify() const {
    LoggedModify modify;
    TROUPE_ASSIGN(modify.collection, collection());
    modify.change = without(operation_.object, {"collMod"});
    if (operation_.other) {
      const StrictFields other(what_, *operation_.other);
      TROUPE_TRY(other.allowOnly(Names{"collectionOptions_old"}));
      TROUPE_ASSIGN(const auto options, other.required("collectionOptions_old", Type::kDocument));
      modify.optionsBefore = bson::Document(options.asDocument());
    }
    return LoggedCommand(std::move(modify));
  }

  StatusWith<LoggedCommand> dropDatabase() const {
    TROUPE_TRY(fields_.allowOnly(Names{"dropDatabase"}));
    return LoggedCommand(LoggedDropDatabase{});
  }

  StatusWith<LoggedCommand> createIndex() const {
    LoggedCreateIndex create;
    TROUPE_ASSIGN(create.collection, collection());
    create.spec = without(operation_.object, {"createIndexes"});
    TROUPE_TRY(fields_.required("key", Type::kDocument).status());
    TROUPE_TRY(fields_.required("name", Type::kString).status());
    return LoggedCommand(std::move(create));
  }

  StatusWith<LoggedCommand> indexBuild() const {
    LoggedIndexBuild build;
    TROUPE_TRY(fields_.allowOnly(Names{name(), "indexBuildUUID", "indexes", "cause"}));
    build.step = name()[0] == 's'   ? LoggedIndexBuild::Step::kStart
                 : name()[0] == 'c' ? LoggedIndexBuild::Step::kCommit
                                    : LoggedIndexBuild::Step::kAbort;
    TROUPE_ASSIGN(build.collection, collection());
    TROUPE_ASSIGN(const auto id, fields_.uuid("indexBuildUUID"));
    if (!id) return fields_.malformed("'indexBuildUUID' is missing");
    build.build = *id;
    TROUPE_ASSIGN(build.specs, documents("indexes"));
    TROUPE_ASSIGN(const auto cause, fields_.optional("cause", Type::kDocument));
    if (cause && build.step != LoggedIndexBuild::Step::kAbort) return fields_.malformed("only an abort has a 'cause'");
    if (cause) build.cause = bson::Document(cause.asDocument());
    return LoggedCommand(std::move(build));
  }

  StatusWith<LoggedCommand> dropIndex() const {
    LoggedDropIndex drop;
    TROUPE_TRY(fields_.allowOnly(Names{"dropIndexes", "index"}));
    TROUPE_ASSIGN(drop.collection, collection());
    TROUPE_ASSIGN(drop.index, fields_.text("index"));
    if (operation_.other) drop.spec = bson::Document(*operation_.other);
    return LoggedCommand(std::move(drop));
  }

  StatusWith<LoggedCommand> truncate() const {
    LoggedTruncate truncate;
    TROUPE_TRY(fields_.allowOnly(Names{"emptycapped"}));
    TROUPE_ASSIGN(truncate.collection, collection());
    return LoggedCommand(std::move(truncate));
  }

  StatusWith<LoggedCommand> group() const {
    LoggedGroup group;
    TROUPE_TRY(fields_.allowOnly(Names{"applyOps"}));
    TROUPE_ASSIGN(group.operations, documents("applyOps"));
    for (const bson::Document& document : group.operations) {
      TROUPE_ASSIGN(const auto operation, LoggedOperation::parse(document));
      if (operation.kind == OplogKind::kCommand && operation.object.first().name() == "applyOps")
        return fields_.malformed("a group must not hold another");
    }
    return LoggedCommand(std::move(group));
  }

  /// The value of the command's first field.
  StatusWith<std::string> collection() const {
    TROUPE_ASSIGN(std::string collection, fields_.text(name()));
    if (collection.empty()) return fields_.malformed("the collection's name must not be empty");
    return collection;
  }

  StatusWith<std::optional<int64_t>> records() const {
    if (!operation_.other) return std::optional<int64_t>();
    const StrictFields other(what_, *operation_.other);
    TROUPE_TRY(other.allowOnly(Names{"numRecords"}));
    TROUPE_ASSIGN(const auto records, other.required("numRecords", Type::kInt64));
    return std::optional(records.asInt64());
  }

  StatusWith<std::vector<bson::Document>> documents(std::string_view name) const {
    TROUPE_ASSIGN(const auto list, fields_.required(name, Type::kArray));
    std::vector<bson::Document> documents;
    for (const bson::Element& item : list.asArray()) {
      if (!item.is(Type::kDocument)) return fields_.malformed("'" + std::string(name) + "' must hold documents");
      documents.emplace_back(item.asDocument());
    }
    if (documents.empty()) return fields_.malformed("'" + std::string(name) + "' must not be empty");
    return documents;
  }

  const LoggedOperation& operation_;
  const std::string what_;
  const StrictFields fields_;
};

}  // namespace

CommandObjects encode(const LoggedCommand& command) { return std::visit(Encoder{}, command); }

std::string commandNamespace(std::string_view db) { return std::string(db) + ".$cmd"; }

StatusWith<LoggedCommand> parseCommand(const LoggedOperation& operation) {
  if (operation.kind != OplogKind::kCommand)
    return {ErrorCode::kFailedToParse, "oplog entry: an operation of another kind holds no command"};
  return CommandParser(operation).parse();
}

}  // namespace troupe::storage
