#include "storage/query/match/mismatch.hpp"

#include "storage/query/match/field_path.hpp"

namespace troupe::query {

using bson::Element;
using bson::View;

namespace {

bool isLogic(MatchKind kind) { return kind == MatchKind::kAnd || kind == MatchKind::kOr || kind == MatchKind::kNor; }

std::string_view reasonOf(MatchKind kind, bool inverted) {
  switch (kind) {
    case MatchKind::kIn: return inverted ? "matching value found in array" : "no matching value found in array";
    case MatchKind::kRegex: return inverted ? "regular expression matched" : "regular expression did not match";
    case MatchKind::kMod:
      return inverted ? "$mod did evaluate to the expected remainder" : "$mod did not evaluate to expected remainder";
    case MatchKind::kExists: return inverted ? "path does exist" : "path does not exist";
    case MatchKind::kType: return inverted ? "type did match" : "type did not match";
    case MatchKind::kSize:
      return inverted ? "array length was equal to given size" : "array length was not equal to given size";
    case MatchKind::kElemMatchObject:
    case MatchKind::kElemMatchValue:
      return inverted ? "array did satisfy the child predicate" : "array did not satisfy the child predicate";
    case MatchKind::kBitsAllSet:
    case MatchKind::kBitsAllClear:
    case MatchKind::kBitsAnySet:
    case MatchKind::kBitsAnyClear:
      return inverted ? "bitwise operator matched successfully" : "bitwise operator failed to match";
    case MatchKind::kExpr: return inverted ? "expression matched" : "expression did not match";
    case MatchKind::kAlwaysFalse: return "expression always evaluates to false";
    default: return inverted ? "comparison succeeded" : "comparison failed";
  }
}

/// The values a path leads to, through arrays as filters go.
void valuesAt(View document, std::string_view path, std::vector<Element>& found) {
  const auto dot = path.find('.');
  const Element e = document[path.substr(0, dot)];
  if (!e.ok()) return;
  if (dot == std::string_view::npos) return found.push_back(e);
  const auto rest = path.substr(dot + 1);
  if (e.is(bson::Type::kDocument)) return valuesAt(e.asDocument(), rest, found);
  if (!e.is(bson::Type::kArray)) return;
  valuesAt(e.asArray(), rest, found);
  for (const Element& item : e.asArray()) {
    if (item.is(bson::Type::kDocument)) valuesAt(item.asDocument(), rest, found);
  }
}

void explainLeaf(const MatchExpression& node, View document, bool inverted, bson::Builder& out) {
  out.append("operatorName", inverted && node.kind() == MatchKind::kEq   ? "$ne"
                             : inverted && node.kind() == MatchKind::kIn ? "$nin"
                                                                         : matchOperatorName(node.kind()));
  out.append("specifiedAs", inverted ? bson::doc("$not", node.toBson()) : node.toBson());
  if (node.kind() == MatchKind::kExpr) {
    out.append("reason", reasonOf(node.kind(), inverted)).append("expressionResult", inverted);
    return;
  }
  std::vector<Element> values;
  valuesAt(document, node.path(), values);
  if (values.empty()) {
    out.append("reason", node.kind() == MatchKind::kExists ? reasonOf(node.kind(), inverted) : "field was missing");
    return;
  }
  out.append("reason", reasonOf(node.kind(), inverted));
  if (values.size() == 1) {
    out.append("consideredValue", values.front());
    if (node.kind() == MatchKind::kType) out.append("consideredType", bson::typeName(values.front().type()));
    return;
  }
  out.openArray("consideredValues");
  for (const Element& value : values) out.push(value);
  out.close();
}

void explain(const MatchExpression& node, View document, bool inverted, bson::Builder& out);

/// Appends the clauses that made the whole fail: clauses that do not match, or, for $nor and under $not, that match.
void explainClauses(const MatchExpression& node, View document, bool inverted, bson::Builder& out) {
  const bool wantedToFail = inverted != (node.kind() == MatchKind::kNor);
  out.append("operatorName", matchOperatorName(node.kind())).openArray("clausesNotSatisfied");
  int32_t index = 0;
  for (const auto& child : node.children()) {
    if (child->matches(document) == wantedToFail) {
      out.pushDocument().append("index", index).openDocument("details");
      explain(*child, document, wantedToFail, out);
      out.close().close();
    }
    ++index;
  }
  out.close();
}

void explain(const MatchExpression& node, View document, bool inverted, bson::Builder& out) {
  if (isLogic(node.kind())) return explainClauses(node, document, inverted, out);
  if (node.kind() == MatchKind::kNot) {
    const MatchExpression& child = *node.children().front();
    if (!isLogic(child.kind()) && child.kind() != MatchKind::kNot) return explain(child, document, !inverted, out);
    out.append("operatorName", "$not").openDocument("details");
    explain(child, document, !inverted, out);
    out.close();
    return;
  }
  if (node.kind() != MatchKind::kJsonSchema) return explainLeaf(node, document, inverted, out);
  const View schema = node.operand().asDocument();
  out.append("operatorName", "$jsonSchema");
  for (const auto name : {"title", "description"}) {
    if (const Element e = schema[name]; e) out.append(e);
  }
  if (inverted) {
    out.append("specifiedAs", bson::doc("$jsonSchema", schema)).append("reason", "schema matched");
    return;
  }
  out.openArray("schemaRulesNotSatisfied");
  explainSchema(schema, document, out);
  out.close();
}

}  // namespace

bson::Document explainMismatch(const MatchExpression& filter, View document) {
  bson::Builder out;
  explain(filter, document, false, out);
  return out.finish();
}

}  // namespace troupe::query
