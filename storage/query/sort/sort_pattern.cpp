#include "storage/query/sort/sort_pattern.hpp"

#include <algorithm>
#include <cmath>

#include "messaging/bson/compare.hpp"
#include "storage/keys/key_string.hpp"

namespace troupe::query {
namespace {

using bson::Element;
using bson::Type;
using bson::Value;
using bson::View;

const Element& undefinedValue() {
  static const Value value{bson::Undefined{}};
  static const Element element = value.element();
  return element;
}

int compareForSort(const Element& a, const Element& b, const bson::Collator* collator) {
  // A missing field sorts as null, not as undefined.
  static const Value null{bson::Null{}};
  return bson::compareValues(a.ok() ? a : null.element(), b.ok() ? b : null.element(), collator);
}

struct SortMeta {
  SortPattern::Meta meta;
  std::string_view name;
};

constexpr SortMeta kSortMetas[] = {{SortPattern::Meta::kTextScore, "textScore"},
                                   {SortPattern::Meta::kRecordId, "recordId"},
                                   {SortPattern::Meta::kScore, "score"},
                                   {SortPattern::Meta::kRandomValue, "randVal"},
                                   {SortPattern::Meta::kSearchScore, "searchScore"}};

/// Metadata that no document has here: all sort alike by it, and it takes no place in a key.
bool isNeverThere(SortPattern::Meta meta) {
  return meta == SortPattern::Meta::kRandomValue || meta == SortPattern::Meta::kSearchScore;
}

StatusWith<SortPattern::Part> parsePart(const Element& e) {
  if (e.name().empty()) return {ErrorCode::kFieldPathEmpty, "FieldPath cannot be constructed with empty string"};
  SortPattern::Part part;
  if (e.is(Type::kDocument)) {
    const Element meta = e.asDocument()["$meta"];
    if (meta.ok() && e.asDocument().count() != 1)
      return {ErrorCode::kFailedToParse, "a $meta sort key may have no other fields"};
    if (!meta.ok()) return {ErrorCode(17312), "$meta is the only expression supported by $sort right now"};
    const auto name = meta.toStringOr();
    const auto* const known = std::ranges::find(kSortMetas, name, &SortMeta::name);
    if (known == std::end(kSortMetas))
      return {ErrorCode(31138), "Illegal $meta sort: $meta: \"" + std::string(name) + "\""};
    part.meta = known->meta;
    part.ascending = part.meta == SortPattern::Meta::kRecordId;
    part.path = FieldPath(e.name());
    return part;
  }
  if (!e.isNumber()) return {ErrorCode(15974), "Illegal key in $sort specification: " + std::string(e.name())};
  const int64_t direction = e.toInt64();  // fractions count as the integer they convert to
  if (direction != 1 && direction != -1)
    return {ErrorCode(15975), "$sort key ordering must be 1 (for ascending) or -1 (for descending)"};
  if (e.name().starts_with('$'))
    return {ErrorCode::kFieldPathInvalid,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField."};
  if (e.name().ends_with('.')) return {ErrorCode::kFieldPathTrailingDot, "FieldPath must not end with a '.'."};
  part.path = FieldPath(e.name());
  for (size_t i = 0; i < part.path.size(); ++i)
    if (part.path[i].empty()) return {ErrorCode(15998), "FieldPath field names may not be empty strings."};
  for (size_t i = 0; i < part.path.size(); ++i)
    if (part.path[i].front() == '$' && part.path[i] != "$id" && part.path[i] != "$ref" && part.path[i] != "$db")
      return {ErrorCode::kFieldPathInvalid,
              "FieldPath field names may not start with '$'. Consider using $getField or $setField."};
  if (part.path.size() > bson::kMaxNestingDepth) return {ErrorCode::kOverflow, "FieldPath is too long"};
  part.ascending = direction > 0;
  return part;
}

Value recordIdValue(const SortPattern::Metadata& metadata) {
  return metadata.recordId ? metadata.recordId->toValue() : storage::RecordId().toValue();
}

}  // namespace

/// The value by which a part sorts, among those offered.
class SortPattern::Best {
 public:
  Best(const SortPattern& pattern, const Part& part) : pattern_(pattern), part_(part) {}

  Status offer(const Element& value) {
    TROUPE_TRY(pattern_.step(value.size() + value_.size()));
    if (!any_ || pattern_.compare(part_, value, value_) < 0) value_ = value;
    any_ = true;
    return Status::OK();
  }
  const Element& value() const { return value_; }

 private:
  const SortPattern& pattern_;
  const Part& part_;
  Element value_;
  bool any_ = false;
};

/// Offers the values that a part's path leads to. All of them come from one array, the outermost that the path enters,
/// or there is but one.
class SortPattern::PartValues {
 public:
  PartValues(const SortPattern& pattern, const FieldPath& path, Best& best)
      : pattern_(pattern), path_(path), best_(best) {}

  /// `e` is what the components up to `at` lead to.
  Status walk(const Element& e, size_t at) {
    const bool isLast = at + 1 == path_.size();
    if (e.is(Type::kArray)) {
      // A position of the array comes first; where there is none, the component is the name of a field.
      if (!isLast && path_.index(at + 1) >= 0)
        if (const Element named = e.asArray()[path_[at + 1]]) return walk(named, at + 1);
      return elements(e, at);
    }
    if (isLast) return best_.offer(e);
    return e.is(Type::kDocument) ? walk(e.asDocument()[path_[at + 1]], at + 1) : best_.offer({});
  }

  /// Goes on in one element of an array that component `at` leads to.
  Status below(const Element& item, size_t at) {
    if (at + 1 == path_.size()) return best_.offer(item);
    if (!item.is(Type::kDocument)) return walk({}, at + 1);
    TROUPE_TRY(pattern_.step(item.size()));
    return walk(item.asDocument()[path_[at + 1]], at + 1);
  }

  /// The outermost array; absent when it entered none.
  const Element& array() const { return array_; }
  size_t at() const { return at_; }

 private:
  Status elements(const Element& array, size_t at) {
    if (array.asArray().empty()) return best_.offer(at + 1 == path_.size() ? undefinedValue() : Element());
    if (!array_.ok()) {
      array_ = array;
      at_ = at;
    }
    for (const auto& item : array.asArray()) TROUPE_TRY(below(item, at));
    return Status::OK();
  }

  const SortPattern& pattern_;
  const FieldPath& path_;
  Best& best_;
  Element array_;
  size_t at_ = 0;
};

StatusWith<SortPattern> SortPattern::parse(View spec, const ParseContext& context) {
  SortPattern pattern;
  pattern.collator_ = context.collator;
  pattern.work_ = context.work;
  size_t places = 0;
  for (const auto& e : spec) {
    TROUPE_ASSIGN(auto part, parsePart(e));
    if (!isNeverThere(part.meta) && ++places > storage::key_string::kMaxFields)
      return {ErrorCode(13103), "too many compound keys"};
    for (const auto& earlier : pattern.parts_)
      if (earlier.path.text() == part.path.text())
        return {ErrorCode(7472500),
                "$sort key must not contain duplicate keys (duplicate: '" + part.path.text() + "')"};
    pattern.parts_.push_back(std::move(part));
  }
  if (pattern.parts_.empty()) return {ErrorCode(15976), "$sort stage must have at least one sort key"};
  return pattern;
}

bson::Document SortPattern::toBson() const {
  bson::Builder out;
  for (const auto& part : parts_) {
    if (part.meta == Meta::kNone) out.append(part.path.text(), part.ascending ? 1 : -1);
    else
      out.append(part.path.text(), bson::doc("$meta", std::ranges::find(kSortMetas, part.meta, &SortMeta::meta)->name));
  }
  return out.finish();
}

/// Negative when `a` comes first.
int SortPattern::compare(const Part& part, const Element& a, const Element& b) const {
  const int order = compareForSort(a, b, collator_);
  return part.ascending ? order : -order;
}

Status SortPattern::select(View document, std::vector<Element>& values) const {
  values.assign(parts_.size(), Element());
  Element array;
  std::vector<OfArray> sharing;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.meta != Meta::kNone) continue;
    const Element first = document[part.path[0]];
    if (!first.isObjectLike() || (part.path.size() == 1 && first.is(Type::kDocument))) {
      if (part.path.size() == 1) values[i] = first;
      continue;
    }
    Best best(*this, part);
    PartValues found(*this, part.path, best);
    TROUPE_TRY(found.walk(first, 0));
    values[i] = best.value();
    if (!found.array().ok()) continue;
    if (array.ok() && array.value() != found.array().value())
      return {ErrorCode::kBadValue, "cannot sort with keys that are parallel arrays"};
    array = found.array();
    sharing.push_back({i, found.at()});
  }
  return sharing.size() < 2 ? Status::OK() : selectElement(array, sharing, values);
}

/// Several parts from one array: the best element decides for all of them.
Status SortPattern::selectElement(const Element& array, const std::vector<OfArray>& sharing,
                                  std::vector<Element>& values) const {
  std::vector<Element> chosen, trial(sharing.size());
  for (const Element& item : array.asArray()) {
    for (size_t i = 0; i < sharing.size(); ++i) {
      const Part& part = parts_[sharing[i].part];
      Best best(*this, part);
      TROUPE_TRY(PartValues(*this, part.path, best).below(item, sharing[i].at));
      trial[i] = best.value();
    }
    int order = chosen.empty() ? -1 : 0;
    for (size_t i = 0; i < sharing.size() && order == 0; ++i) {
      TROUPE_TRY(step(trial[i].size() + chosen[i].size()));
      order = compare(parts_[sharing[i].part], trial[i], chosen[i]);
    }
    if (order < 0) chosen = trial;
  }
  for (size_t i = 0; i < sharing.size(); ++i) values[sharing[i].part] = chosen[i];
  return Status::OK();
}

StatusWith<std::string> SortPattern::key(View document, const Metadata& metadata) const {
  std::vector<Element> values;
  TROUPE_TRY(select(document, values));
  uint32_t descending = 0;
  uint32_t place = 1;
  for (const Part& part : parts_) {
    if (isNeverThere(part.meta)) continue;
    if (!part.ascending) descending |= place;
    place <<= 1;
  }
  storage::key_string::Builder builder{storage::Ordering(descending)};
  Growth growth(work_);  // parts may hold each other: {"a": 1, "a.b": 1}
  for (size_t i = 0; i < parts_.size(); ++i) {
    TROUPE_TRY(growth.to(builder.size()));
    switch (parts_[i].meta) {
      case Meta::kNone: builder.append(values[i], collator_); break;
      case Meta::kTextScore: builder.append(Value(metadata.textScore).element()); break;
      case Meta::kRecordId: builder.append(recordIdValue(metadata).element()); break;
      case Meta::kScore: builder.append(metadata.score); break;
      case Meta::kRandomValue:
      case Meta::kSearchScore: break;
    }
  }
  return std::string(builder.bytes());
}

StatusWith<bson::Document> SortPattern::keyValues(View document, const Metadata& metadata) const {
  std::vector<Element> values;
  TROUPE_TRY(select(document, values));
  bson::Builder out;
  for (size_t i = 0; i < parts_.size(); ++i) {
    switch (parts_[i].meta) {
      case Meta::kNone: values[i].ok() ? out.append("", values[i]) : out.append("", bson::Null{}); break;
      case Meta::kTextScore: out.append("", metadata.textScore); break;
      case Meta::kRecordId: out.append("", recordIdValue(metadata)); break;
      case Meta::kScore: metadata.score.ok() ? out.append("", metadata.score) : out.append("", bson::Null{}); break;
      case Meta::kRandomValue:
      case Meta::kSearchScore: out.append("", bson::Null{}); break;
    }
  }
  return out.finish();
}

int SortPattern::compareKeyValues(View a, View b) const {
  auto left = a.begin();
  auto right = b.begin();
  for (const auto& part : parts_) {
    const int order = compareForSort(*left, *right, collator_);
    if (order) return part.ascending ? order : -order;
    if (left != a.end()) ++left;
    if (right != b.end()) ++right;
  }
  return 0;
}

}  // namespace troupe::query
