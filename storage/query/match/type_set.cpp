#include <cmath>

#include "messaging/bson/json.hpp"
#include "storage/query/match/predicates.hpp"

namespace troupe::query {
namespace {

using bson::Type;

constexpr Type kTypes[] = {Type::kDouble,    Type::kString,    Type::kDocument, Type::kArray,      Type::kBinary,
                           Type::kUndefined, Type::kObjectId,  Type::kBool,     Type::kDate,       Type::kNull,
                           Type::kRegex,     Type::kDBPointer, Type::kCode,     Type::kSymbol,     Type::kCodeWithScope,
                           Type::kInt32,     Type::kTimestamp, Type::kInt64,    Type::kDecimal128, Type::kMinKey,
                           Type::kMaxKey};

}  // namespace

int TypeSet::bit(Type type) {
  if (type == Type::kMinKey) return 62;
  if (type == Type::kMaxKey) return 63;
  return static_cast<int>(type) & 31;
}

Status TypeSet::addAlias(std::string_view alias) {
  if (alias == "number") {
    for (const Type t : {Type::kDouble, Type::kInt32, Type::kInt64, Type::kDecimal128}) insert(t);
    return Status::OK();
  }
  for (const Type t : kTypes) {
    if (alias == bson::typeName(t)) {
      insert(t);
      return Status::OK();
    }
  }
  return {ErrorCode::kBadValue, "Unknown type name alias: " + std::string(alias)};
}

Status TypeSet::add(const bson::Element& e, std::string_view path) {
  if (e.is(Type::kString)) return addAlias(e.asString());
  if (e.isNumber()) {
    const double code = e.toDouble();
    for (const Type t : kTypes) {
      const double known = t == Type::kMinKey ? -1 : static_cast<double>(t);
      if (code == known || (t == Type::kMinKey && code == 255)) {
        insert(t);
        return Status::OK();
      }
    }
    return {ErrorCode::kBadValue, "Invalid numerical type code: " + bson::toRelaxedJson(e)};
  }
  if (!e.is(Type::kArray)) return {ErrorCode::kTypeMismatch, "type must be represented as a number or a string"};
  for (const auto& item : e.asArray()) {
    if (item.is(Type::kArray)) return {ErrorCode::kTypeMismatch, "type must be represented as a number or a string"};
    TROUPE_TRY(add(item, path));
  }
  if (!any()) return {ErrorCode::kFailedToParse, std::string(path) + " must match at least one type"};
  return Status::OK();
}

}  // namespace troupe::query
