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

/// A value that a document could sort by, and the outermost array it came from.
struct Candidate {
  Element value;
  const char* array = nullptr;
  int64_t offset = -1;
};

const Element& undefinedValue() {
  static const Value value{bson::Undefined{}};
  static const Element element = value.element();
  return element;
}

class Candidates {
 public:
  Candidates(const FieldPath& path, std::vector<Candidate>& out) : path_(path), out_(out) {}
  void walk(const Element& e, size_t at, const char* array, int64_t offset) {
    if (at + 1 == path_.size()) return leaf(e, array, offset);
    if (e.is(Type::kDocument)) return walk(e.asDocument()[path_[at + 1]], at + 1, array, offset);
    if (!e.is(Type::kArray)) return out_.push_back({{}, array, offset});
    // A position of the array comes first; where there is none, the component is the name of a field.
    if (const Element named = path_.index(at + 1) >= 0 ? e.asArray()[path_[at + 1]] : Element())
      return walk(named, at + 1, array, offset);
    int64_t n = 0;
    for (const auto& item : e.asArray()) {
      const Element below = item.is(Type::kDocument) ? item.asDocument()[path_[at + 1]] : Element();
      walk(below, at + 1, array ? array : e.value(), array ? offset : n);
      ++n;
    }
    if (n == 0) out_.push_back({{}, array, offset});
  }

 private:
  void leaf(const Element& e, const char* array, int64_t offset) {
    if (!e.is(Type::kArray)) return out_.push_back({e, array, offset});
    int64_t n = 0;
    for (const auto& item : e.asArray()) {
      out_.push_back({item, array ? array : e.value(), array ? offset : n});
      ++n;
    }
    if (n == 0) out_.push_back({undefinedValue(), array, offset});
  }
  const FieldPath& path_;
  std::vector<Candidate>& out_;
};

int compareForSort(const Element& a, const Element& b, const bson::Collator* collator) {
  // A missing field sorts as null, not as undefined.
  static const Value null{bson::Null{}};
  return bson::compareValues(a.ok() ? a : null.element(), b.ok() ? b : null.element(), collator);
}

StatusWith<SortPattern::Part> parsePart(const Element& e) {
  if (e.name().empty()) return {ErrorCode::kFieldPathEmpty, "FieldPath cannot be constructed with empty string"};
  SortPattern::Part part;
  if (e.is(Type::kDocument)) {
    const Element meta = e.asDocument()["$meta"];
    if (!meta.ok() || e.asDocument().count() != 1)
      return {ErrorCode(17312), "$meta is the only expression supported by $sort right now"};
    const auto name = meta.toStringOr();
    if (name != "textScore" && name != "recordId")
      return {ErrorCode(31138), "Illegal $meta sort: $meta: \"" + std::string(name) + "\""};
    part.meta = name == "textScore" ? SortPattern::Meta::kTextScore : SortPattern::Meta::kRecordId;
    part.ascending = part.meta == SortPattern::Meta::kRecordId;
    part.path = FieldPath(e.name());
    return part;
  }
  if (!e.isNumber()) return {ErrorCode(15974), "Illegal key in $sort specification: " + std::string(e.name())};
  const double direction = e.toDouble();
  if (direction != 1 && direction != -1)
    return {ErrorCode(15975), "$sort key ordering must be 1 (for ascending) or -1 (for descending)"};
  if (e.name().starts_with('$'))
    return {ErrorCode::kFieldPathInvalid,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField."};
  if (e.name().ends_with('.')) return {ErrorCode::kFieldPathTrailingDot, "FieldPath must not end with a '.'."};
  part.path = FieldPath(e.name());
  for (size_t i = 0; i < part.path.size(); ++i)
    if (part.path[i].empty()) return {ErrorCode(15998), "FieldPath field names may not be empty strings."};
  part.ascending = direction > 0;
  return part;
}

}  // namespace

StatusWith<SortPattern> SortPattern::parse(View spec, const ParseContext& context) {
  SortPattern pattern;
  pattern.collator_ = context.collator;
  for (const auto& e : spec) {
    TROUPE_ASSIGN(auto part, parsePart(e));
    for (const auto& earlier : pattern.parts_)
      if (earlier.path.text() == part.path.text())
        return {ErrorCode(7472500),
                "$sort key must not contain duplicate keys (duplicate: '" + part.path.text() + "')"};
    pattern.parts_.push_back(std::move(part));
  }
  if (pattern.parts_.empty()) return {ErrorCode(15976), "$sort stage must have at least one sort key"};
  if (pattern.parts_.size() > storage::key_string::kMaxFields) return {ErrorCode(13103), "too many compound keys"};
  return pattern;
}

bson::Document SortPattern::toBson() const {
  bson::Builder out;
  for (const auto& part : parts_) {
    if (part.meta == Meta::kNone) out.append(part.path.text(), part.ascending ? 1 : -1);
    else out.append(part.path.text(), bson::doc("$meta", part.meta == Meta::kTextScore ? "textScore" : "recordId"));
  }
  return out.finish();
}

bool SortPattern::isBetter(const Part& part, const Element& a, const Element& b) const {
  const int order = compareForSort(a, b, collator_);
  return part.ascending ? order < 0 : order > 0;
}

Status SortPattern::select(View document, std::vector<Element>& values) const {
  values.assign(parts_.size(), Element());
  std::vector<std::vector<Candidate>> multiple(parts_.size());
  const char* array = nullptr;
  int64_t offsets = 0;
  size_t sharing = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.meta != Meta::kNone) continue;
    const Element first = document[part.path[0]];
    if (!first.isObjectLike() || (part.path.size() == 1 && first.is(Type::kDocument))) {
      if (part.path.size() == 1) values[i] = first;
      continue;
    }
    Candidates(part.path, multiple[i]).walk(first, 0, nullptr, -1);
    const Candidate* best = nullptr;
    for (const auto& candidate : multiple[i]) {
      if (candidate.array && array && candidate.array != array)
        return {ErrorCode::kBadValue, "cannot sort with keys that are parallel arrays"};
      if (candidate.array) array = candidate.array;
      offsets = std::max(offsets, candidate.offset + 1);
      if (!best || isBetter(part, candidate.value, best->value)) best = &candidate;
    }
    if (best) values[i] = best->value;
    if (best && best->array) ++sharing;
  }
  if (sharing < 2) return Status::OK();
  // Several parts from one array: the best element decides for all of them.
  std::vector<Element> chosen, trial(parts_.size());
  for (int64_t offset = 0; offset < offsets; ++offset) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Candidate* best = nullptr;
      for (const auto& c : multiple[i])
        if ((c.offset == offset || !c.array) && (!best || isBetter(parts_[i], c.value, best->value))) best = &c;
      trial[i] = best ? best->value : values[i];
    }
    const auto before = [&] {
      for (size_t i = 0; i < parts_.size(); ++i)
        if (compareForSort(trial[i], chosen[i], collator_) != 0) return isBetter(parts_[i], trial[i], chosen[i]);
      return false;
    };
    if (chosen.empty() || before()) chosen = trial;
  }
  values = std::move(chosen);
  return Status::OK();
}

StatusWith<std::string> SortPattern::key(View document, double textScore, const storage::RecordId& recordId) const {
  std::vector<Element> values;
  TROUPE_TRY(select(document, values));
  uint32_t descending = 0;
  for (size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i].ascending) descending |= uint32_t{1} << i;
  storage::key_string::Builder builder{storage::Ordering(descending)};
  for (size_t i = 0; i < parts_.size(); ++i) {
    switch (parts_[i].meta) {
      case Meta::kNone: builder.append(values[i], collator_); break;
      case Meta::kTextScore: builder.append(Value(textScore).element()); break;
      case Meta::kRecordId: builder.append(recordId.toValue().element()); break;
    }
  }
  return std::string(builder.bytes());
}

StatusWith<bson::Document> SortPattern::keyValues(View document, double textScore,
                                                  const storage::RecordId& recordId) const {
  std::vector<Element> values;
  TROUPE_TRY(select(document, values));
  bson::Builder out;
  for (size_t i = 0; i < parts_.size(); ++i) {
    switch (parts_[i].meta) {
      case Meta::kNone: values[i].ok() ? out.append("", values[i]) : out.append("", bson::Null{}); break;
      case Meta::kTextScore: out.append("", textScore); break;
      case Meta::kRecordId: out.append("", recordId.toValue()); break;
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
