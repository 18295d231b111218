#include "actors/server/arguments.hpp"

#include <algorithm>
#include <string>

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

Status checkDuplicate(std::string_view command, bson::View body, const Element& e) {
  for (const Element& other : body) {
    if (other.raw().data() == e.raw().data()) return Status::OK();
    if (other.name() == e.name()) return {ErrorCode(40413), fieldPath(command, e.name()) + " is a duplicate field"};
  }
  return Status::OK();
}

}  // namespace

std::span<const Argument> genericArguments() { return kGeneric; }

bool isGenericArgument(std::string_view name) { return findIn(kGeneric, name) != nullptr; }

Status checkArguments(std::string_view command, ArgumentTable table, bson::View body, bool apiStrict) {
  if (table.size() == 1 && table[0].name == kAnyOther) return Status::OK();
  uint64_t seen = 0;
  bool first = true;
  for (const Element& e : body) {
    if (first) {
      first = false;
      continue;
    }
    const Argument* argument = findIn(table, e.name());
    if (argument) {
      const auto bit = uint64_t{1} << (argument - table.data());
      if (seen & bit) TROUPE_TRY(checkDuplicate(command, body, e));
      if (!(argument->isRequired && argument->types != kAnyType && e.isNullish())) seen |= bit;  // null: not given
    } else {
      argument = findIn(kGeneric, e.name());
    }
    if (!argument && findIn(table, kAnyOther)) continue;
    if (!argument) return {ErrorCode::kUnknownField, fieldPath(command, e.name()) + " is an unknown field."};
    if (apiStrict && !argument->isInStableApi) {
      return {ErrorCode::kAPIStrictError, fieldPath(command, e.name()) + " is not in API Version 1"};
    }
    if (argument->types == kAnyType || e.isNullish()) continue;
    const uint16_t type = argumentTypeOf(e);
    if (!(argument->types & type)) {
      return {ErrorCode::kTypeMismatch, fieldPath(command, e.name()) + " is the wrong type '" +
                                            std::string(bson::typeName(e.type())) + "', expected " +
                                            expectedTypes(argument->types)};
    }
    if ((argument->types & type & kUuidArg) && e.asBinary().bytes.size() != sizeof(bson::Uuid::bytes))
      return {ErrorCode::kInvalidUUID, fieldPath(command, e.name()) + " must have the 16 bytes of a UUID"};
  }
  for (const Argument& a : table) {
    if (a.isRequired && !(seen & (uint64_t{1} << (&a - table.data())))) {
      return {ErrorCode::kMissingRequiredField, fieldPath(command, a.name) + " is missing but a required field"};
    }
  }
  return Status::OK();
}

}  // namespace troupe::server
