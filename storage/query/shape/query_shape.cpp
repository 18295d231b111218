#include "storage/query/shape/query_shape.hpp"

#include <algorithm>

#include "messaging/auth/crypto.hpp"
#include "messaging/bson/collation.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/match/predicates.hpp"
#include "storage/query/query_work.hpp"
#include "storage/query/shape/value_shape.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;

namespace {

/// A schema has no constants that plans are made for: its keywords, the fields it names and their types all count.
Status appendSchema(std::string& out, const Element& schema, QueryWork* work) {
  if (work) TROUPE_TRY(work->step());
  if (schema.is(Type::kString)) {
    appendSized(out, schema.asString());
    return Status::OK();
  }
  if (!schema.isObjectLike()) return appendTypeOf(out, schema, work);
  out += '{';
  for (const Element& e : schema.asDocument()) {
    appendSized(out, e.name());
    TROUPE_TRY(appendSchema(out, e, work));
  }
  out += '}';
  return Status::OK();
}

std::string_view optionsOf(const Element& regex) {
  return regex.is(Type::kRegex) ? regex.asRegex().options : std::string_view();
}

/// Writes a filter, either as plans see it or as query statistics do.
class FilterShape {
 public:
  enum class For { kPlans, kStatistics };
  FilterShape(For purpose, QueryWork* work) : purpose_(purpose), work_(work) {}

  Status append(std::string& out, const MatchExpression& e) const {
    if (work_) TROUPE_TRY(work_->step());
    const bool isLogic = e.kind() == MatchKind::kAnd || e.kind() == MatchKind::kOr || e.kind() == MatchKind::kNor;
    // One condition alone is the same query with $and or $or around it as without.
    if (isLogic && e.kind() != MatchKind::kNor && e.children().size() == 1) return append(out, *e.children().front());
    out += matchOperatorName(comparedAs(e));
    appendSized(out, e.path());
    if (isLogic) return appendBranches(out, e);
    out += '(';
    for (const auto& child : e.children()) TROUPE_TRY(append(out, *child));
    TROUPE_TRY(appendOperand(out, e));
    out += ')';
    return Status::OK();
  }

 private:
  bool plans() const { return purpose_ == For::kPlans; }

  /// $in of one value is planned as $eq of it.
  MatchKind comparedAs(const MatchExpression& e) const {
    if (!plans() || e.kind() != MatchKind::kIn) return e.kind();
    const bson::View values = e.operand().asArray();
    const Element first = values.first();
    const bool alone = first && !first.is(Type::kRegex) && values.size() == first.size() + 5;
    return alone ? MatchKind::kEq : MatchKind::kIn;
  }

  void gather(const MatchExpression& e, MatchKind kind, std::vector<const MatchExpression*>& out) const {
    for (const auto& child : e.children()) {
      if (child->kind() == kind && kind != MatchKind::kNor) gather(*child, kind, out);
      else out.push_back(child.get());
    }
  }

  Status appendBranches(std::string& out, const MatchExpression& e) const {
    std::vector<const MatchExpression*> branches;
    gather(e, e.kind(), branches);
    std::vector<std::string> shapes;
    Growth growth(work_);
    size_t bytes = 0;
    for (const MatchExpression* branch : branches) {
      TROUPE_TRY(append(shapes.emplace_back(), *branch));
      bytes += sizeof(std::string) + shapes.back().size();
      TROUPE_TRY(growth.to(bytes));
      if (work_) TROUPE_TRY(work_->step(stepsFor(shapes.back().size())));  // it is copied once for each level
    }
    if (plans()) std::sort(shapes.begin(), shapes.end());
    out += '[';
    for (const std::string& shape : shapes) appendSized(out, shape);
    out += ']';
    return Status::OK();
  }

  Status appendOperand(std::string& out, const MatchExpression& e) const {
    const Element operand = e.operand();
    switch (e.kind()) {
      case MatchKind::kJsonSchema: return appendSchema(out, operand, work_);
      case MatchKind::kRegex: out += optionsOf(operand); return Status::OK();
      case MatchKind::kExpr: return plans() ? Status::OK() : appendExpressionShape(out, operand, work_);
      case MatchKind::kType: return plans() ? Status::OK() : appendTypes(out, operand);
      case MatchKind::kExists: return Status::OK();
      default: return plans() || !operand ? Status::OK() : appendTypeOf(out, operand, work_);
    }
  }

  /// Numbers and names of types mean the same, and so do one and an array of one.
  static Status appendTypes(std::string& out, const Element& operand) {
    TypeSet types;
    TROUPE_TRY(types.add(operand, ""));
    for (int code = static_cast<int>(Type::kDouble); code <= static_cast<int>(Type::kDecimal128); ++code)
      out += types.contains(static_cast<Type>(code)) ? '1' : '0';
    out += types.contains(Type::kMinKey) ? '1' : '0';
    out += types.contains(Type::kMaxKey) ? '1' : '0';
    return Status::OK();
  }

  For purpose_;
  QueryWork* work_;
};

/// Fields that are shown or hidden; computed ones with their expression.
Status appendProjection(std::string& out, bson::View projection, bool inAnyOrder, QueryWork* work) {
  std::vector<std::string> fields;
  for (const Element& e : projection) {
    std::string& field = fields.emplace_back();
    appendSized(field, e.name());
    if (e.isNumber() || e.is(Type::kBool)) field += e.truthy() ? '1' : '0';
    else TROUPE_TRY(appendExpressionShape(field, e, work));
  }
  if (inAnyOrder) std::sort(fields.begin(), fields.end());
  for (const std::string& field : fields) out += field;
  return Status::OK();
}

void appendSort(std::string& out, bson::View sort) {
  for (const Element& e : sort) {
    appendSized(out, e.name());
    if (e.isNumber()) out += e.toDouble() < 0 ? '-' : '+';
    else appendSized(out, e.isObjectLike() ? e.asDocument().bytes() : std::string_view());
  }
}

Status appendPipeline(std::string& out, bson::View stages, const ParseContext& context) {
  for (const Element& stage : stages) {
    const Element first = stage.isObjectLike() ? stage.asDocument().first() : Element();
    if (first.name() == "$match" && first.is(Type::kDocument)) {
      if (const auto filter = parseMatch(first.asDocument(), context); filter.isOK()) {
        out += "$match";
        TROUPE_TRY(FilterShape(FilterShape::For::kStatistics, context.work).append(out, **filter));
        continue;
      }
    }
    TROUPE_TRY(appendExpressionShape(out, stage, context.work));
  }
  return Status::OK();
}

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

}  // namespace

StatusWith<std::string> planShape(const ShapedQuery& query, const ParseContext& context) {
  std::string out;
  if (query.filter) TROUPE_TRY(FilterShape(FilterShape::For::kPlans, context.work).append(out, *query.filter));
  out += "|s";
  appendSort(out, query.sort);
  out += "|p";
  TROUPE_TRY(appendProjection(out, query.projection, true, context.work));
  out += "|c";
  if (context.collator) out += context.collator->specification().view().bytes();
  return out;
}

StatusWith<std::string> queryShapeHash(std::string_view command, std::string_view ns, bson::View fields,
                                       const std::vector<ShapedField>& shaped, const ParseContext& context) {
  std::string out;
  appendSized(out, command);
  appendSized(out, ns);
  for (const ShapedField& field : shaped) {
    const Element e = fields[field.name];
    if (e.isNullish() && field.kind != ShapedField::Kind::kFilter) continue;  // no filter is an empty one
    appendSized(out, field.name);
    switch (field.kind) {
      case ShapedField::Kind::kFilter: {
        TROUPE_ASSIGN(const auto filter, parseMatch(e.isObjectLike() ? e.asDocument() : bson::View(), context));
        TROUPE_TRY(FilterShape(FilterShape::For::kStatistics, context.work).append(out, *filter));
        break;
      }
      case ShapedField::Kind::kVerbatim:
        if (e.isObjectLike()) out += e.asDocument().bytes();
        else appendSized(out, e.toStringOr());
        break;
      case ShapedField::Kind::kProjection:
        if (e.isObjectLike()) TROUPE_TRY(appendProjection(out, e.asDocument(), false, context.work));
        break;
      case ShapedField::Kind::kExpression: TROUPE_TRY(appendExpressionShape(out, e, context.work)); break;
      case ShapedField::Kind::kPipeline:
        if (e.isObjectLike()) TROUPE_TRY(appendPipeline(out, e.asDocument(), context));
        break;
    }
  }
  return hex(auth::digest(auth::Mechanism::kScramSha256, out));
}

std::string shortHash(std::string_view shape) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : shape) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(hash >> shift);
  return hex(bytes);
}

}  // namespace troupe::query
