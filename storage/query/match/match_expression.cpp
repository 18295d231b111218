#include "storage/query/match/match_expression.hpp"

#include <algorithm>
#include <utility>

namespace troupe::query {

using bson::Element;
using bson::Type;

MatchExpression::MatchExpression(MatchKind kind, std::string_view path, bson::Value operand,
                                 std::unique_ptr<Predicate> predicate)
    : kind_(kind), path_(path), operand_(std::move(operand)), predicate_(std::move(predicate)) {}

MatchExpression::MatchExpression(MatchKind kind, Children children) : kind_(kind), children_(std::move(children)) {}

bool MatchExpression::matches(bson::View document, MatchDetails* details) const {
  if (details && !details->goesOn()) return false;
  const auto one = [&](const auto& child) { return child->matches(document, details); };
  switch (kind_) {
    case MatchKind::kAnd:
      return details ? matchesAll(document, *details) : std::all_of(children_.begin(), children_.end(), one);
    case MatchKind::kOr: return std::any_of(children_.begin(), children_.end(), one);
    case MatchKind::kNor:
    case MatchKind::kNot:  // what fails to match has no position
      return matchesNone(document, details);
    case MatchKind::kAlwaysTrue: return true;
    case MatchKind::kAlwaysFalse: return false;
    case MatchKind::kExpr:
    case MatchKind::kJsonSchema: return matchesDocumentTest(document, details);
    case MatchKind::kElemMatchObject:
    case MatchKind::kElemMatchValue:
      return walkPath(document, path_, LeafArray::kWhole, [&](const Element& e, int64_t offset) {
        int64_t index = -1;
        if (!matchesArray(e, &index, details)) return false;
        if (details) details->arrayIndex = offset >= 0 ? offset : index;
        return true;
      });
    default: break;
  }
  const auto leaf =
      kind_ == MatchKind::kSize || kind_ == MatchKind::kExists ? LeafArray::kWhole : LeafArray::kElementsAndWhole;
  bool isFirst = true;  // its step has been taken above
  return walkPath(document, path_, leaf, [&](const Element& e, int64_t offset) {
    if (!std::exchange(isFirst, false) && details && !details->goesOn()) return false;
    if (!predicate_->test(e, details)) return false;
    if (details && offset >= 0) details->arrayIndex = offset;
    return true;
  });
}

/// Of several conditions on arrays the last gives the position, where the kinds of conditions come in the order in
/// which explain shows them: an upper bound before a lower one, however they are written.
bool MatchExpression::matchesAll(bson::View document, MatchDetails& details) const {
  int64_t index = details.arrayIndex;
  bool fromLowerBound = false;
  for (const auto& child : children_) {
    details.arrayIndex = -1;
    if (!child->matches(document, &details)) return false;
    const bool upper = child->kind_ == MatchKind::kLt || child->kind_ == MatchKind::kLte;
    if (details.arrayIndex < 0 || (upper && fromLowerBound)) continue;
    index = details.arrayIndex;
    fromLowerBound = child->kind_ == MatchKind::kGt || child->kind_ == MatchKind::kGte;
  }
  details.arrayIndex = index;
  return true;
}

bool MatchExpression::matchesNone(bson::View document, MatchDetails* details) const {
  MatchDetails inner;
  if (details) inner.work = details->work;
  const bool none = std::none_of(children_.begin(), children_.end(), [&](const auto& child) {
    return child->matches(document, details ? &inner : nullptr);
  });
  if (details && !inner.error.isOK()) details->error = std::move(inner.error);
  return none;
}

bool MatchExpression::matchesDocumentTest(bson::View document, MatchDetails* details) const {
  auto outcome = predicate_->testDocument(document);
  if (outcome.isOK()) return *outcome;
  if (details) details->error = outcome.status();
  return false;
}

bool MatchExpression::canFail() const {
  return (predicate_ && predicate_->canFail()) ||
         std::any_of(children_.begin(), children_.end(), [](const auto& child) { return child->canFail(); });
}

bool MatchExpression::matchesArray(const Element& array, int64_t* index, MatchDetails* details) const {
  if (!array.is(Type::kArray)) return false;
  MatchDetails inner;  // positions within the items do not count
  if (details) inner.work = details->work;
  int64_t n = 0;
  for (const auto& item : array.asArray()) {
    const bool matched = kind_ == MatchKind::kElemMatchValue
                             ? children_.front()->matchesValue(item, &inner)
                             : item.isObjectLike() && children_.front()->matches(item.asDocument(), &inner);
    if (!inner.error.isOK()) {
      if (details) details->error = std::move(inner.error);
      return false;
    }
    if (matched) {
      *index = n;
      return true;
    }
    ++n;
  }
  return false;
}

bool MatchExpression::matchesValue(const Element& value, MatchDetails* details) const {
  if (details && !details->goesOn()) return false;
  const auto one = [&](const auto& child) { return child->matchesValue(value, details); };
  switch (kind_) {
    case MatchKind::kAnd: return std::all_of(children_.begin(), children_.end(), one);
    case MatchKind::kOr: return std::any_of(children_.begin(), children_.end(), one);
    case MatchKind::kNor:
    case MatchKind::kNot: return std::none_of(children_.begin(), children_.end(), one);
    case MatchKind::kAlwaysTrue: return true;
    case MatchKind::kAlwaysFalse: return false;
    case MatchKind::kElemMatchObject:
    case MatchKind::kElemMatchValue: {
      int64_t index = -1;
      return matchesArray(value, &index, details);
    }
    case MatchKind::kExpr:
    case MatchKind::kJsonSchema: return value.is(Type::kDocument) && matchesDocumentTest(value.asDocument(), details);
    default: return predicate_->test(value, details);
  }
}

std::string_view matchOperatorName(MatchKind kind) {
  switch (kind) {
    case MatchKind::kAnd: return "$and";
    case MatchKind::kOr: return "$or";
    case MatchKind::kNor: return "$nor";
    case MatchKind::kNot: return "$not";
    case MatchKind::kAlwaysTrue: return "$alwaysTrue";
    case MatchKind::kAlwaysFalse: return "$alwaysFalse";
    case MatchKind::kEq: return "$eq";
    case MatchKind::kLt: return "$lt";
    case MatchKind::kLte: return "$lte";
    case MatchKind::kGt: return "$gt";
    case MatchKind::kGte: return "$gte";
    case MatchKind::kIn: return "$in";
    case MatchKind::kRegex: return "$regex";
    case MatchKind::kMod: return "$mod";
    case MatchKind::kExists: return "$exists";
    case MatchKind::kType: return "$type";
    case MatchKind::kSize: return "$size";
    case MatchKind::kBitsAllSet: return "$bitsAllSet";
    case MatchKind::kBitsAllClear: return "$bitsAllClear";
    case MatchKind::kBitsAnySet: return "$bitsAnySet";
    case MatchKind::kBitsAnyClear: return "$bitsAnyClear";
    case MatchKind::kElemMatchObject:
    case MatchKind::kElemMatchValue: return "$elemMatch";
    case MatchKind::kExpr: return "$expr";
    case MatchKind::kJsonSchema: return "$jsonSchema";
  }
  return "";
}

bson::Document MatchExpression::toBson() const {
  bson::Builder out;
  serialize(out);
  return out.finish();
}

void MatchExpression::serializeOperator(bson::Builder& out) const {
  switch (kind_) {
    case MatchKind::kRegex: {
      const auto regex = operand_.element().asRegex();
      out.append("$regex", regex.pattern);
      if (!regex.options.empty()) out.append("$options", regex.options);
      return;
    }
    case MatchKind::kElemMatchObject:
      out.openDocument("$elemMatch");
      children_.front()->serialize(out);
      out.close();
      return;
    case MatchKind::kElemMatchValue:
    case MatchKind::kNot:
      out.openDocument(matchOperatorName(kind_));
      if (children_.front()->kind() == MatchKind::kAnd) {
        for (const auto& child : children_.front()->children()) child->serializeOperator(out);
      } else {
        children_.front()->serializeOperator(out);
      }
      out.close();
      return;
    default: out.append(matchOperatorName(kind_), operand_);
  }
}

namespace {
/// The path that all leaves below speak of, or null when they differ.
const std::string* commonPath(const MatchExpression& e) {
  if (e.kind() != MatchKind::kAnd && e.kind() != MatchKind::kNot) return e.path().empty() ? nullptr : &e.path();
  const std::string* path = nullptr;
  for (const auto& child : e.children()) {
    if (child->kind() == MatchKind::kAnd) return nullptr;
    const auto* its = commonPath(*child);
    if (!its || (path && *path != *its)) return nullptr;
    path = its;
  }
  return path;
}
}  // namespace

void MatchExpression::serialize(bson::Builder& out) const {
  const auto array = [&](std::string_view name, const Children& children) {
    out.openArray(name);
    for (const auto& child : children) {
      out.pushDocument();
      child->serialize(out);
      out.close();
    }
    out.close();
  };
  switch (kind_) {
    case MatchKind::kAnd:
      if (!children_.empty()) array("$and", children_);
      return;
    case MatchKind::kOr:
    case MatchKind::kNor: array(matchOperatorName(kind_), children_); return;
    case MatchKind::kNot: {
      const auto* path = commonPath(*children_.front());
      if (!path) return array("$nor", children_);
      out.openDocument(*path);
      serializeOperator(out);
      out.close();
      return;
    }
    case MatchKind::kAlwaysTrue:
    case MatchKind::kAlwaysFalse: out.append(matchOperatorName(kind_), 1); return;
    case MatchKind::kExpr:
    case MatchKind::kJsonSchema: out.append(matchOperatorName(kind_), operand_); return;
    default:
      out.openDocument(path_.text());
      serializeOperator(out);
      out.close();
  }
}

}  // namespace troupe::query
