#include "storage/oplog/document_difference.hpp"

#include <algorithm>
#include <string>

namespace troupe::storage {

namespace {

// Bytes of BSON: type and closing NUL of a name; a document without fields; one that is opened under a one-letter name.
constexpr size_t kHeader = 2;
constexpr size_t kSection = kHeader + 1 + 5;

size_t sizeUnder(std::string_view name, size_t valueBytes) { return kHeader + name.size() + valueBytes; }

/// Makes the difference of two documents or arrays, depth first.
class Comparison {
 public:
  DocumentDifference documents(bson::View before, bson::View after, int depth) {
    DocumentDifference difference;
    auto old = before.begin();
    auto now = after.begin();
    // Most updates leave the fields where they are: both are walked side by side for as long as that holds.
    for (; old != before.end() && now != after.end() && old->name() == now->name(); ++old, ++now)
      change(difference, *old, *now, 0, depth);
    rest(difference, old, before.end(), now, after.end(), depth);
    if (!difference.removed.empty()) difference.encodedSize += kSection;
    if (!difference.inserted.empty()) difference.encodedSize += kSection;
    const auto replaced = [](const auto& changed) { return !changed.nested; };
    if (std::any_of(difference.changed.begin(), difference.changed.end(), replaced)) difference.encodedSize += kSection;
    return difference;
  }

  DocumentDifference arrays(bson::View before, bson::View after, int depth) {
    DocumentDifference difference;
    difference.array = true;
    difference.encodedSize += sizeUnder("a", 1);
    auto old = before.begin();
    auto now = after.begin();
    uint32_t index = 0;
    for (; old != before.end() && now != after.end(); ++old, ++now, ++index)
      change(difference, *old, *now, index, depth);
    if (old != before.end()) {
      difference.length = index;
      difference.encodedSize += sizeUnder("l", 4);
    }
    for (; now != after.end(); ++now, ++index) replace(difference, *now, index);
    return difference;
  }

 private:
  using Iterator = bson::View::Iterator;
  struct Field {
    std::string_view name;
    size_t position;
    bson::Element element;
    bool mentioned = false;
  };

  static void replace(DocumentDifference& difference, const bson::Element& now, uint32_t index) {
    // In an array the index follows the letter `u`.
    difference.encodedSize += sizeUnder(now.name(), now.valueSize()) + (difference.array ? 1 : 0);
    difference.changed.push_back({now.name(), index, now, nullptr});
  }

  void change(DocumentDifference& difference, const bson::Element& old, const bson::Element& now, uint32_t index,
              int depth) {
    if (old.type() == now.type() && old.valueBytes() == now.valueBytes()) return;
    if (old.type() == now.type() && now.isObjectLike() && depth < kMaxDifferenceDepth) {
      auto nested = now.is(bson::Type::kArray) ? arrays(old.asArray(), now.asArray(), depth + 1)
                                               : documents(old.asDocument(), now.asDocument(), depth + 1);
      if (nested.encodedSize < now.valueSize()) {
        difference.encodedSize += 1 + sizeUnder(now.name(), nested.encodedSize);
        auto owned = std::make_unique<DocumentDifference>(std::move(nested));
        difference.changed.push_back({now.name(), index, {}, std::move(owned)});
        return;
      }
    }
    replace(difference, now, index);
  }

  /// Compares the rest, behind the fields that both have in the same places. A sorted table finds it: a document's
  /// writer chooses the names, so a hash table could be made to degenerate.
  void rest(DocumentDifference& difference, Iterator old, const Iterator& oldEnd, Iterator now, const Iterator& nowEnd,
            int depth) {
    std::vector<Field> fields;
    for (size_t position = 0; old != oldEnd; ++old, ++position) fields.push_back({old->name(), position, *old});
    std::vector<Field*> byName;
    for (Field& field : fields) byName.push_back(&field);
    const auto earlier = [](const Field* field, std::string_view name) { return field->name < name; };
    std::sort(byName.begin(), byName.end(), [](const Field* a, const Field* b) { return a->name < b->name; });
    size_t next = 0;  // position from which on a field of `before` may still stay in its place
    bool inserting = false;
    for (; now != nowEnd; ++now) {
      const auto found = std::lower_bound(byName.begin(), byName.end(), now->name(), earlier);
      Field* const field = found != byName.end() && (*found)->name == now->name() ? *found : nullptr;
      if (field) field->mentioned = true;
      inserting = inserting || !field || field->position < next;
      if (inserting) {
        difference.encodedSize += sizeUnder(now->name(), now->valueSize());
        difference.inserted.push_back(*now);
      } else {
        next = field->position + 1;
        change(difference, field->element, *now, 0, depth);
      }
    }
    for (const Field& field : fields) {
      if (field.mentioned) continue;
      difference.encodedSize += sizeUnder(field.name, 1);
      difference.removed.push_back(field.name);
    }
  }
};

void encodeNested(const DocumentDifference::Change& change, bson::Builder& into) {
  into.openDocument("s" + std::string(change.name));
  encode(*change.nested, into);
  into.close();
}

void encodeArray(const DocumentDifference& difference, bson::Builder& into) {
  into.append("a", true);
  if (difference.length) into.append("l", static_cast<int32_t>(*difference.length));
  for (const auto& change : difference.changed) {
    if (change.nested) encodeNested(change, into);
    else into.append("u" + std::string(change.name), change.value);
  }
}

}  // namespace

DocumentDifference differenceOf(bson::View before, bson::View after) {
  return Comparison().documents(before, after, 0);
}

void encode(const DocumentDifference& difference, bson::Builder& into) {
  if (difference.array) return encodeArray(difference, into);
  if (!difference.removed.empty()) {
    into.openDocument("d");
    for (const std::string_view name : difference.removed) into.append(name, false);
    into.close();
  }
  bool replaced = false;
  for (const auto& change : difference.changed) {
    if (change.nested) continue;
    if (!replaced) into.openDocument("u");
    replaced = true;
    into.append(change.value);
  }
  if (replaced) into.close();
  if (!difference.inserted.empty()) {
    into.openDocument("i");
    for (const bson::Element& field : difference.inserted) into.append(field);
    into.close();
  }
  for (const auto& change : difference.changed) {
    if (change.nested) encodeNested(change, into);
  }
}

}  // namespace troupe::storage
