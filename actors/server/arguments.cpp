#include "actors/server/arguments.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe::server {

using bson::Element;
using bson::Type;

namespace {

constexpr Argument kGeneric[] = {
    stringArg("$db"),
    documentArg("lsid"),
    documentArg("$clusterTime"),
    numberArg("txnNumber"),
    boolArg("autocommit"),
    boolArg("startTransaction"),
    numberArg("stmtId"),
    arrayArg("stmtIds"),
    documentArg("readConcern"),
    documentArg("writeConcern"),
    numberArg("maxTimeMS"),
    anyArg("comment"),
    documentArg("$readPreference"),
    documentArg("$queryOptions"),
    anyArg("$audit"),
    anyArg("$client"),
    anyArg("$configServerState"),
    anyArg("$oplogQueryData"),
    anyArg("$replData"),
    anyArg("operationTime"),
    stringArg("apiVersion"),
    boolArg("apiStrict"),
    boolArg("apiDeprecationErrors"),
    anyArg("help"),
};

uint16_t argumentTypeOf(const Element& e) {
  switch (e.type()) {
    case Type::kBool: return kBoolArg;
    case Type::kInt32:
    case Type::kInt64:
    case Type::kDouble:
    case Type::kDecimal128: return kNumberArg;
    case Type::kString: return kStringArg;
    case Type::kDocument: return kDocumentArg;
    case Type::kArray: return kArrayArg;
    case Type::kBinary: return kBinaryArg | (e.asBinary().subtype == bson::kBinaryUuid ? kUuidArg : 0);
    case Type::kObjectId: return kObjectIdArg;
    case Type::kTimestamp: return kTimestampArg;
    default: return 0x8000;
  }
}

std::string expectedTypes(uint16_t types) {
  std::string names;
  const auto add = [&](uint16_t bit, const char* name) {
    if (types & bit) names += (names.empty() ? "" : ", ") + std::string(name);
  };
  add(kBoolArg, "bool");
  add(kNumberArg, "long, int, decimal, double");
  add(kStringArg, "string");
  add(kDocumentArg, "object");
  add(kArrayArg, "array");
  add(kBinaryArg, "binData");
  add(kUuidArg, "UUID");
  add(kObjectIdArg, "objectId");
  add(kTimestampArg, "timestamp");
  return names.find(',') == std::string::npos ? "type '" + names + "'" : "types '[" + names + "]'";
}

std::string fieldPath(std::string_view command, std::string_view field) {
  return "BSON field '" + std::string(command) + "." + std::string(field) + "'";
}

const Argument* findIn(std::span<const Argument> table, std::string_view name) {
  for (const Argument& a : table) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

uint64_t bitOf(const Argument& argument, ArgumentTable table) { return uint64_t{1} << (&argument - table.data()); }

/// Checks the fields of one document, in their order.
class FieldChecks {
 public:
  FieldChecks(std::string_view command, ArgumentTable table, bool apiStrict)
      : command_(command), table_(table), apiStrict_(apiStrict) {}

  Status check(const Element& e) {
    const Argument* argument = findIn(table_, e.name());
    const bool isOwn = argument != nullptr;
    if (!argument) argument = findIn(kGeneric, e.name());
    if (!argument && findIn(table_, kAnyOther)) return Status::OK();
    if (!argument) return {ErrorCode::kUnknownField, fieldPath(command_, e.name()) + " is an unknown field."};
    TROUPE_TRY(isOwn ? note(*argument, table_, own_, e) : note(*argument, kGeneric, generic_, e));
    if (apiStrict_ && !argument->isInStableApi)
      return {ErrorCode::kAPIStrictError, fieldPath(command_, e.name()) + " is not in API Version 1"};
    return argument->types == kAnyType || e.isNullish() ? Status::OK() : checkType(*argument, e);
  }

  /// After the last field.
  Status checkRequired() const {
    for (const Argument& a : table_) {
      if (a.isRequired && !(own_.given & bitOf(a, table_)))
        return {ErrorCode::kMissingRequiredField, fieldPath(command_, a.name) + " is missing but a required field"};
    }
    return Status::OK();
  }

 private:
  /// A field that is null was seen, but not given. The two are apart so that none behind it, which nobody would read,
  /// stands in for it.
  struct Found {
    uint64_t seen = 0, given = 0;
  };

  Status note(const Argument& argument, ArgumentTable table, Found& found, const Element& e) const {
    const uint64_t bit = bitOf(argument, table);
    if (found.seen & bit) return {ErrorCode(40413), fieldPath(command_, e.name()) + " is a duplicate field"};
    found.seen |= bit;
    if (argument.types == kAnyType || !e.isNullish()) found.given |= bit;
    return Status::OK();
  }

  Status checkType(const Argument& argument, const Element& e) const {
    const uint16_t type = argumentTypeOf(e);
    if (!(argument.types & type)) {
      return {ErrorCode::kTypeMismatch, fieldPath(command_, e.name()) + " is the wrong type '" +
                                            std::string(bson::typeName(e.type())) + "', expected " +
                                            expectedTypes(argument.types)};
    }
    if ((argument.types & type & kUuidArg) && e.asBinary().bytes.size() != sizeof(bson::Uuid::bytes))
      return {ErrorCode::kInvalidUUID, fieldPath(command_, e.name()) + " must have the 16 bytes of a UUID"};
    return Status::OK();
  }

  const std::string_view command_;
  const ArgumentTable table_;
  const bool apiStrict_;
  Found own_, generic_;
};

}  // namespace

std::span<const Argument> genericArguments() { return kGeneric; }

bool isGenericArgument(std::string_view name) { return findIn(kGeneric, name) != nullptr; }

Status checkArguments(std::string_view command, ArgumentTable table, bson::View body, bool apiStrict) {
  if (table.size() == 1 && table[0].name == kAnyOther) return Status::OK();
  FieldChecks checks(command, table, apiStrict);
  bool isFirst = true;
  for (const Element& e : body)
    if (!std::exchange(isFirst, false)) TROUPE_TRY(checks.check(e));
  return checks.checkRequired();
}

Status checkFields(std::string_view what, ArgumentTable table, bson::View document) {
  FieldChecks checks(what, table, false);
  for (const Element& e : document) TROUPE_TRY(checks.check(e));
  return checks.checkRequired();
}

}  // namespace troupe::server
