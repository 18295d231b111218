#include "storage/query/expression/paths.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;

ValuePath::ValuePath(std::string_view dotted) : dotted_(dotted) {
  size_t from = 0;
  while (true) {
    const size_t dot = dotted.find('.', from);
    names_.emplace_back(dotted.substr(from, dot == std::string_view::npos ? dot : dot - from));
    if (dot == std::string_view::npos) break;
    from = dot + 1;
  }
}

Status ValuePath::check(std::string_view dotted) {
  if (dotted.empty()) return {ErrorCode::kFieldPathEmpty, "FieldPath cannot be constructed with empty string"};
  if (dotted.back() == '.') return {ErrorCode::kFieldPathTrailingDot, "FieldPath must not end with a '.'."};
  const ValuePath path(dotted);
  if (path.names().size() > bson::kMaxNestingDepth + 20) return {ErrorCode::kOverflow, "FieldPath is too long"};
  for (const auto& name : path.names()) {
    if (name.empty()) return {ErrorCode(15998), "FieldPath field names may not be empty strings."};
    if (name[0] == '$' && name != "$id" && name != "$ref" && name != "$db")
      return {ErrorCode::kFieldPathInvalid,
              "FieldPath field names may not start with '$'. Consider using $getField or $setField."};
    if (name.find('\0') != std::string::npos) return {ErrorCode(16411), "FieldPath field names may not contain '\\0'."};
  }
  return Status::OK();
}

Operand ValuePath::in(const Element& value) const {
  if (names_.empty()) return value;
  if (value.is(Type::kDocument)) return inDocument(value.asDocument(), 0);
  if (value.is(Type::kArray)) return inArray(value.asArray(), 0);
  return {};
}

Operand ValuePath::inDocument(bson::View document, size_t from) const {
  for (size_t i = from;; ++i) {
    const Element e = document[names_[i]];
    if (i + 1 == names_.size()) return e;
    if (e.is(Type::kArray)) return inArray(e.asArray(), i + 1);
    if (!e.is(Type::kDocument)) return {};
    document = e.asDocument();
  }
}

Operand ValuePath::inArray(bson::View array, size_t from) const {
  bson::Builder out;
  for (const Element& item : array) {
    if (!item.is(Type::kDocument)) continue;
    const Operand found = inDocument(item.asDocument(), from);
    if (found.ok()) out.push(found.element());
  }
  return out.finishArray();
}

}  // namespace troupe::query
