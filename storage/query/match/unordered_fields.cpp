#include "storage/query/match/unordered_fields.hpp"

#include <algorithm>
#include <vector>

namespace troupe::query {

namespace {

bson::Document sorted(bson::View document) {
  std::vector<bson::Element> fields(document.begin(), document.end());
  std::stable_sort(fields.begin(), fields.end(),
                   [](const bson::Element& a, const bson::Element& b) { return a.name() < b.name(); });
  bson::Builder out;
  for (const bson::Element& e : fields) {
    if (e.isObjectLike()) out.append(e.name(), withSortedFields(e));
    else out.append(e);
  }
  return out.finish();
}

}  // namespace

bson::Value withSortedFields(const bson::Element& value) {
  if (value.is(bson::Type::kDocument)) return bson::Value(sorted(value.asDocument()));
  if (!value.is(bson::Type::kArray)) return bson::Value(value);
  bson::Builder items;
  for (const bson::Element& item : value.asArray()) items.push(withSortedFields(item));
  return items.finishArray();
}

}  // namespace troupe::query
