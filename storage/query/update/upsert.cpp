// The document that an upsert inserts.
#include <algorithm>

#include "storage/query/update/update.hpp"

namespace troupe::query {
namespace {

using bson::Document;
using bson::Element;

struct Equality {
  const FieldPath* path;
  Element value;
};

void collect(const MatchExpression& e, std::vector<Equality>& out) {
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

Status checkDistinct(const std::vector<Equality>& equalities) {
  for (size_t i = 0; i < equalities.size(); ++i) {
    const std::string& path = equalities[i].path->text();
    for (size_t j = 0; j < i; ++j) {
      const std::string& earlier = equalities[j].path->text();
      if (earlier == path)
        return {ErrorCode::kNotSingleValueField,
                "cannot infer query fields to set, path '" + path + "' is matched twice"};
      if (earlier.starts_with(path + ".") || path.starts_with(earlier + "."))
        return {ErrorCode::kNotSingleValueField,
                "cannot infer query fields to set, both paths '" + path + "' and '" + earlier + "' are matched"};
    }
  }
  return Status::OK();
}

/// Nests the equalities that share their first `level` components, in the order of their first mention.
void build(const std::vector<Equality>& equalities, size_t level, bson::Builder& out) {
  std::vector<std::string_view> done;
  for (const auto& equality : equalities) {
    const auto name = (*equality.path)[level];
    if (std::find(done.begin(), done.end(), name) != done.end()) continue;
    done.push_back(name);
    if (equality.path->size() == level + 1) {
      out.append(name, equality.value);
      continue;
    }
    std::vector<Equality> below;
    std::copy_if(equalities.begin(), equalities.end(), std::back_inserter(below),
                 [&](const Equality& other) { return (*other.path)[level] == name; });
    out.openDocument(name);
    build(below, level + 1, out);
    out.close();
  }
}

}  // namespace

StatusWith<Document> documentFromFilter(const MatchExpression& filter, Update::Form form) {
  std::vector<Equality> equalities;
  collect(filter, equalities);
  if (form == Update::Form::kReplacement)
    std::erase_if(equalities, [](const Equality& e) { return (*e.path)[0] != "_id"; });
  TROUPE_TRY(checkDistinct(equalities));
  bson::Builder out;
  build(equalities, 0, out);
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

}  // namespace troupe::query
