// The document that an upsert inserts.
#include <algorithm>
#include <unordered_map>

#include "messaging/bson/compare.hpp"
#include "storage/query/update/update.hpp"

namespace troupe::query {
namespace {

using bson::Document;
using bson::Element;

struct Equality {
  const FieldPath* path;
  Element value;
};
using Equalities = std::vector<Equality>;

void collect(const MatchExpression& e, Equalities& out) {
  switch (e.kind()) {
    case MatchKind::kAnd:
      for (const auto& child : e.children()) collect(*child, out);
      return;
    case MatchKind::kOr:
      if (e.children().size() == 1) collect(*e.children().front(), out);
      return;
    case MatchKind::kEq: out.push_back({&e.fieldPath(), e.operand()}); return;
    case MatchKind::kIn: {
      const auto values = e.operand().asArray();
      if (values.count() == 1 && !values.first().is(bson::Type::kRegex))
        out.push_back({&e.fieldPath(), values.first()});
      return;
    }
    default: return;
  }
}

/// The equalities among the conditions, all of which must hold; false where there are others, too.
bool takeEqualities(const MatchExpression& e, Equalities& out) {
  bool areAll = true;
  switch (e.kind()) {
    case MatchKind::kAlwaysTrue: break;
    case MatchKind::kAnd:
      for (const auto& child : e.children()) areAll = takeEqualities(*child, out) && areAll;
      break;
    case MatchKind::kEq: out.push_back({&e.fieldPath(), e.operand()}); break;
    default: areAll = false;
  }
  return areAll;
}

/// Whether all documents that have the value in their key have it in the sense of filters: an array counts by its
/// elements in a key, also one that a path with a number ends at, and null there may also stand for an empty array on
/// the way.
bool isFoundByKey(const Equality& equality) {
  for (size_t i = 0; i < equality.path->size(); ++i)
    if (equality.path->index(i) >= 0) return false;
  return !equality.value.is(bson::Type::kArray) && (!equality.value.isNullish() || equality.path->size() == 1);
}

Status conflictOf(const std::string& later, const std::string& earlier) {
  if (later == earlier)
    return {ErrorCode::kNotSingleValueField, "cannot infer query fields to set, path '" + later + "' is matched twice"};
  return {ErrorCode::kNotSingleValueField,
          "cannot infer query fields to set, both paths '" + later + "' and '" + earlier + "' are matched"};
}

/// Nests the equalities that share their first `level` components, in the order of their first mention. Errors:
/// NotSingleValueField where a path ends at one that goes on, or at itself.
Status build(const Equalities& equalities, size_t level, bson::Builder& out) {
  std::vector<Equalities> groups;
  std::unordered_map<std::string_view, size_t> groupOf;
  for (const auto& equality : equalities) {
    const auto [known, isNew] = groupOf.try_emplace((*equality.path)[level], groups.size());
    if (isNew) groups.emplace_back();
    groups[known->second].push_back(equality);
  }
  for (const Equalities& group : groups) {
    const auto name = (*group.front().path)[level];
    const auto end = std::find_if(group.begin(), group.end(),
                                  [&](const Equality& equality) { return equality.path->size() == level + 1; });
    if (end == group.end()) {
      out.openDocument(name);
      TROUPE_TRY(build(group, level + 1, out));
      out.close();
      continue;
    }
    if (group.size() > 1) {
      const Equality& later = end == group.begin() ? group[1] : *end;
      return conflictOf(later.path->text(), group.front().path->text());
    }
    out.append(name, end->value);
  }
  return Status::OK();
}

}  // namespace

StatusWith<Document> documentFromFilter(const MatchExpression& filter, Update::Form form) {
  Equalities equalities;
  collect(filter, equalities);
  if (form == Update::Form::kReplacement)
    std::erase_if(equalities, [](const Equality& e) { return (*e.path)[0] != "_id"; });
  for (const auto& equality : equalities) TROUPE_TRY(checkDepth(*equality.path));
  bson::Builder out;
  TROUPE_TRY(build(equalities, 0, out));
  return out.finish();
}

StatusWith<Document> documentForUpsert(const MatchExpression& filter, const Update& update,
                                       const bson::ObjectId& newId) {
  TROUPE_ASSIGN(const auto start, documentFromFilter(filter, update.form()));
  UpdateInput input;
  input.document = start;
  input.isInsert = true;
  TROUPE_ASSIGN(auto result, update.apply(input));
  const bson::View made = result.document;
  const Element id = made["_id"];
  if (id.ok() && made.first().name() == "_id") return std::move(result.document);
  bson::Builder out;
  out.reserve(made.size() + 24);
  id.ok() ? out.append(id) : out.append("_id", newId);
  for (const auto& e : made)
    if (e.name() != "_id") out.append(e);
  return out.finish();
}

KeyMatch matchByKey(const MatchExpression& filter, bson::View keyPattern, bson::View made) {
  Equalities equalities;
  const bool areAll = takeEqualities(filter, equalities);
  for (const Element& field : keyPattern) {
    // An update that sets the field meets a document of its own value, not of the filter's.
    const bool asks = std::any_of(equalities.begin(), equalities.end(), [&](const Equality& equality) {
      return equality.path->text() == field.name() && isFoundByKey(equality) &&
             bson::compareValues(made.at(field.name()), equality.value) == 0;
    });
    if (!asks) return KeyMatch::kNo;
  }
  return areAll && equalities.size() == static_cast<size_t>(keyPattern.count()) ? KeyMatch::kSurely
                                                                                : KeyMatch::kPerhaps;
}

}  // namespace troupe::query
