#include "storage/query/match/mismatch.hpp"

#include "storage/query/match/field_path.hpp"

namespace troupe::query {

using bson::Element;
using bson::View;

namespace {

/// Fewer no value takes in an array.
constexpr size_t kLeastBytes = 2;

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
void valuesAt(View document, std::string_view path, Explanation& to, std::vector<Element>& found) {
  if (!to.goesOn(stepsForFields(document.size()))) return;
  const auto dot = path.find('.');
  const Element e = document[path.substr(0, dot)];
  if (!e.ok()) return;
  if (dot == std::string_view::npos) return found.push_back(e);
  const auto rest = path.substr(dot + 1);
  if (e.is(bson::Type::kDocument)) return valuesAt(e.asDocument(), rest, to, found);
  if (!e.is(bson::Type::kArray)) return;
  valuesAt(e.asArray(), rest, to, found);
  for (const Element& item : e.asArray()) {
    if (found.size() > kMaxExplanationBytes / kLeastBytes) return;  // too many to be shown
    if (item.is(bson::Type::kDocument)) valuesAt(item.asDocument(), rest, to, found);
  }
}

void explainLeaf(const MatchExpression& node, View document, bool inverted, Explanation& to) {
  bson::Builder& out = to.out;
  out.append("operatorName", inverted && node.kind() == MatchKind::kEq   ? "$ne"
                             : inverted && node.kind() == MatchKind::kIn ? "$nin"
                                                                         : matchOperatorName(node.kind()));
  const bson::Document asked = node.toBson();
  to.copy("specifiedAs", inverted ? bson::doc("$not", asked).view() : asked.view());
  if (node.kind() == MatchKind::kExpr) {
    out.append("reason", reasonOf(node.kind(), inverted)).append("expressionResult", inverted);
    return;
  }
  std::vector<Element> values;
  valuesAt(document, node.path(), to, values);
  if (values.empty()) {
    out.append("reason", node.kind() == MatchKind::kExists ? reasonOf(node.kind(), inverted) : "field was missing");
    return;
  }
  out.append("reason", reasonOf(node.kind(), inverted));
  if (values.size() == 1) {
    to.copy("consideredValue", values.front());
    if (node.kind() == MatchKind::kType) out.append("consideredType", bson::typeName(values.front().type()));
    return;
  }
  out.openArray("consideredValues");
  for (const Element& value : values) {
    if (!to.goesOn(stepsFor(value.size()))) return;
    out.push(value);
  }
  out.close();
}

void explain(const MatchExpression& node, View document, bool inverted, Explanation& to);

/// Means nothing once the explanation does not go on.
bool matches(const MatchExpression& node, View document, Explanation& to) {
  MatchDetails details;
  details.work = to.validation.work;
  const bool matched = node.matches(document, &details);
  to.validation.goesOnAfter(std::move(details.error));
  return matched;
}

/// Appends the clauses that made the whole fail: clauses that do not match, or, for $nor and under $not, that match.
void explainClauses(const MatchExpression& node, View document, bool inverted, Explanation& to) {
  bson::Builder& out = to.out;
  const bool wantedToFail = inverted != (node.kind() == MatchKind::kNor);
  out.append("operatorName", matchOperatorName(node.kind())).openArray("clausesNotSatisfied");
  int32_t index = 0;
  for (const auto& child : node.children()) {
    const bool failed = matches(*child, document, to) == wantedToFail;
    if (!to.goesOn()) return;
    if (failed) {
      out.pushDocument().append("index", index).openDocument("details");
      explain(*child, document, wantedToFail, to);
      if (!to.goesOn()) return;
      out.close().close();
    }
    ++index;
  }
  out.close();
}

void explain(const MatchExpression& node, View document, bool inverted, Explanation& to) {
  bson::Builder& out = to.out;
  if (isLogic(node.kind())) return explainClauses(node, document, inverted, to);
  if (node.kind() == MatchKind::kNot) {
    const MatchExpression& child = *node.children().front();
    if (!isLogic(child.kind()) && child.kind() != MatchKind::kNot) return explain(child, document, !inverted, to);
    out.append("operatorName", "$not").openDocument("details");
    explain(child, document, !inverted, to);
    if (to.goesOn()) out.close();
    return;
  }
  if (node.kind() != MatchKind::kJsonSchema) return explainLeaf(node, document, inverted, to);
  const View schema = node.operand().asDocument();
  out.append("operatorName", "$jsonSchema");
  for (const auto name : {"title", "description"}) {
    if (const Element e = schema[name]; e) to.copy(name, e);
  }
  if (inverted) {
    to.copy("specifiedAs", bson::doc("$jsonSchema", schema).view());
    out.append("reason", "schema matched");
    return;
  }
  out.openArray("schemaRulesNotSatisfied");
  explainSchema(schema, document, to);
  if (to.goesOn()) out.close();
}

}  // namespace

StatusWith<bson::Document> explainMismatch(const MatchExpression& filter, View document, QueryWork* work) {
  Explanation explanation;
  explanation.validation.work = work;
  explain(filter, document, false, explanation);
  const bool isWhole = explanation.goesOn();
  TROUPE_TRY(explanation.validation.error);
  if (isWhole) return explanation.out.finish();
  return bson::doc(
      "reason", "the explanation is larger than " + std::to_string(kMaxExplanationBytes) + " bytes and was left out");
}

}  // namespace troupe::query
