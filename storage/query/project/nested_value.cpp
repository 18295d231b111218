#include "storage/query/project/nested_value.hpp"

#include "storage/query/expression/expression.hpp"
#include "storage/query/match/field_path.hpp"

namespace troupe::query {

namespace {

struct Placing {
  const FieldPath path;
  const bson::Value& value;
  bson::Builder out;

  /// Writes the fields of `in`, which lies at the first `level` components of the path.
  void fields(bson::View in, size_t level) {
    bool isPlaced = false;
    for (const bson::Element& e : in) {
      if (isPlaced || e.name() != path[level]) {
        out.append(e);
        continue;
      }
      isPlaced = true;
      field(e.is(bson::Type::kDocument) ? e.asDocument() : bson::View(), level);
    }
    if (!isPlaced) field({}, level);
  }
  void field(bson::View present, size_t level) {
    if (level + 1 == path.size()) {
      out.append(path[level], value);
      return;
    }
    out.openDocument(path[level]);
    fields(present, level + 1);
    out.close();
  }
};

}  // namespace

StatusWith<bson::Document> withNestedValue(bson::View document, std::string_view path, const bson::Value& value,
                                           QueryWork* work) {
  Placing placing{FieldPath(path), value, {}};
  TROUPE_TRY(checkDepth(placing.path));
  const int levels = Operand::kMaxDepth - static_cast<int>(placing.path.size());
  TROUPE_TRY(checkNesting(value.element(), levels, work));
  const size_t bytes = document.size() + path.size() * 8 + value.valueBytes().size();
  Growth growth(work);
  TROUPE_TRY(growth.reserve(bytes));
  placing.out.reserve(bytes);
  placing.fields(document, 0);
  return placing.out.finish();
}

}  // namespace troupe::query
