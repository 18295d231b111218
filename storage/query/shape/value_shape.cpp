#include "storage/query/shape/value_shape.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;

void appendSized(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

namespace {

std::string_view typeOf(const Element& constant) {
  return constant.isNumber() ? std::string_view("number") : bson::typeName(constant.type());
}

}  // namespace

Status appendTypeOf(std::string& out, const Element& constant, QueryWork* work) {
  out += '?';
  out += typeOf(constant);
  if (!constant.is(Type::kArray)) return Status::OK();
  // How many elements there are does not count, only whether they are of one type.
  std::string_view common;
  for (const Element& e : constant.asArray()) {
    if (work) TROUPE_TRY(work->step());
    const std::string_view type = typeOf(e);
    if (!common.empty() && type != common) {
      common = "mixed";
      break;
    }
    common = type;
  }
  out += '<';
  out += common;
  out += '>';
  return Status::OK();
}

Status appendExpressionShape(std::string& out, const Element& expression, QueryWork* work) {
  if (work) TROUPE_TRY(work->step());
  if (expression.is(Type::kString) && expression.asString().starts_with('$')) {
    appendSized(out, expression.asString());
    return Status::OK();
  }
  if (!expression.isObjectLike()) return appendTypeOf(out, expression, work);
  const bool isLiteral = expression.is(Type::kDocument) && (expression.asDocument().first().name() == "$literal" ||
                                                            expression.asDocument().first().name() == "$const");
  if (isLiteral) return appendTypeOf(out, expression.asDocument().first(), work);
  out += expression.is(Type::kArray) ? '[' : '{';
  if (expression.is(Type::kDocument)) {
    TROUPE_TRY(appendFieldsShape(out, expression.asDocument(), work));
  } else {
    for (const Element& e : expression.asArray()) {
      TROUPE_TRY(appendExpressionShape(out, e, work));
      out += ',';
    }
  }
  out += expression.is(Type::kArray) ? ']' : '}';
  return Status::OK();
}

Status appendFieldsShape(std::string& out, bson::View fields, QueryWork* work) {
  for (const Element& e : fields) {
    appendSized(out, e.name());
    out += '=';
    TROUPE_TRY(appendExpressionShape(out, e, work));
    out += ',';
  }
  return Status::OK();
}

}  // namespace troupe::query
