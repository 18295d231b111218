#pragma once
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::storage {

/// Documents from a seed, and what updates make of them: fields changed, removed, inserted and moved; arrays cut,
/// extended and changed within; at all depths.
class RandomDocuments {
 public:
  explicit RandomDocuments(uint64_t seed) : engine_(seed) {}

  bson::Document document() {
    bson::Builder builder;
    builder.append("_id", static_cast<int64_t>(engine_())).append("filling", std::string(upTo(200), 'f'));
    const int fields = 2 + upTo(8);
    for (int i = 0; i < fields; ++i) builder.append(kNames[i], value(0));
    return builder.finish();
  }

  /// The document after one to three changes; `_id` stays.
  bson::Document changed(bson::View document) {
    bson::Document result(document);
    for (int changes = 1 + upTo(3); changes > 0; --changes) result = changedOnce(result, 0);
    return result;
  }

 private:
  using Fields = std::vector<std::pair<std::string, bson::Value>>;
  static constexpr const char* kNames[] = {"a", "b", "s", "u", "d", "i", "l", "sa", "", "$v", "0", "1", "long name"};

  int upTo(int limit) { return static_cast<int>(engine_() % static_cast<uint64_t>(limit)); }

  bson::Value value(int depth) {
    switch (upTo(depth > 3 ? 6 : 10)) {
      case 0: return bson::Value(static_cast<int32_t>(upTo(3)));
      case 1: return bson::Value(std::string(upTo(40), 'v'));
      case 2: return bson::Value(bson::Null{});
      case 3: return bson::Value(upTo(2) == 0);
      case 4: return bson::Value(static_cast<double>(upTo(3)));
      case 5: return bson::Value(static_cast<int64_t>(engine_()));
      case 6:
      case 7: return list(depth);
      default: return bson::Value(nested(depth));
    }
  }
  bson::Value list(int depth) {
    bson::Builder builder;
    for (int i = upTo(6); i > 0; --i) builder.push(value(depth + 1));
    return builder.finishArray();
  }
  bson::Document nested(int depth) {
    bson::Builder builder;
    const int fields = upTo(6);
    for (int i = 0; i < fields; ++i) builder.append(kNames[i], value(depth + 1));
    return builder.finish();
  }

  bson::Value changedValue(const bson::Element& old, int depth) {
    if (old.is(bson::Type::kDocument) && upTo(4)) return bson::Value(changedOnce(old.asDocument(), depth + 1));
    if (!old.is(bson::Type::kArray) || !upTo(4)) return value(depth + 1);
    std::vector<bson::Value> items;
    for (const bson::Element& item : old.asArray()) items.emplace_back(item);
    const int kind = upTo(3);
    if (kind == 0 && !items.empty()) items.resize(upTo(static_cast<int>(items.size())));
    if (kind == 1) items.push_back(value(depth + 1));
    if (kind == 2 && !items.empty()) {
      bson::Value& item = items[upTo(static_cast<int>(items.size()))];
      item = changedValue(item.element(), depth + 1);
    }
    bson::Builder builder;
    for (const bson::Value& item : items) builder.push(item);
    return builder.finishArray();
  }

  bson::Document changedOnce(bson::View document, int depth) {
    Fields fields;
    for (const bson::Element& field : document) fields.emplace_back(std::string(field.name()), field);
    const int first = depth == 0 ? 1 : 0;  // `_id` stays what and where it is
    const int open = static_cast<int>(fields.size()) - first;
    const int chosen = open > 0 ? first + upTo(open) : -1;
    switch (upTo(8)) {
      case 0:
        if (chosen >= 0) fields.erase(fields.begin() + chosen);
        break;
      case 1:
        if (chosen >= 0) std::rotate(fields.begin() + chosen, fields.begin() + chosen + 1, fields.end());
        break;
      case 2:
      case 3: insert(fields, depth); break;
      default:
        if (chosen >= 0) fields[chosen].second = changedValue(fields[chosen].second.element(), depth);
    }
    bson::Builder builder;
    for (const auto& [name, field] : fields) builder.append(name, field);
    return builder.finish();
  }
  void insert(Fields& fields, int depth) {
    const std::string name = kNames[upTo(std::size(kNames))];
    for (const auto& field : fields) {
      if (field.first == name) return;
    }
    fields.emplace_back(name, value(depth + 1));
  }

  std::mt19937_64 engine_;
};

}  // namespace troupe::storage
