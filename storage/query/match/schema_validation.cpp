#include "storage/query/match/schema_validation.hpp"

#include <algorithm>
#include <vector>

#include "messaging/bson/compare.hpp"
#include "storage/query/interruptible_sort.hpp"
#include "storage/query/match/unordered_fields.hpp"

namespace troupe::query {
namespace {

using bson::Element;
using bson::Value;
using bson::View;

/// Counts the comparison of two values, which ends with the shorter one at the latest.
bool mayCompare(const Element& a, const Element& b, Validation& validation) {
  return validation.goesOn(stepsFor(std::min(a.valueSize(), b.valueSize())));
}

/// Counts the copy that withSortedFields makes.
bool mayCopy(const Element& value, Growth& growth, Validation& validation) {
  return validation.goesOn(stepsForFields(value.valueSize())) &&
         validation.goesOnAfter(growth.reserve(value.valueSize()));
}

}  // namespace

bool isOneOf(const Element& value, View values, Validation& validation) {
  Growth growth(validation.work);
  Value copy;
  Element subject = value;
  if (value.isObjectLike()) {  // nothing else has fields to sort
    if (!mayCopy(value, growth, validation)) return false;
    copy = withSortedFields(value);
    subject = copy.element();
  }
  for (const Element& one : values) {
    if (!mayCompare(subject, one, validation)) return false;
    if (bson::compareValues(subject, one) == 0) return true;
  }
  return false;
}

bool isOneOf(View document, View values, Validation& validation) {
  Growth growth(validation.work);
  if (!validation.goesOnAfter(growth.reserve(document.size()))) return false;
  const Value whole{bson::Document(document)};
  return isOneOf(whole.element(), values, validation);
}

bool allDiffer(View array, Validation& validation) {
  Growth growth(validation.work);
  bson::Builder copies;
  size_t count = 0;
  for (const Element& item : array) {
    if (item.isObjectLike()) {
      Growth nested(validation.work);
      if (!mayCopy(item, nested, validation)) return false;
      copies.push(withSortedFields(item));
    } else {
      copies.push(item);
    }
    ++count;
    if (!validation.goesOnAfter(growth.to(copies.size()))) return false;
  }
  const Value copy = copies.finishArray();
  const View all = copy.element().asArray();
  HeldMemory held(validation.work);  // twice: a stable sort has a buffer of its own
  if (!validation.goesOnAfter(held.set(static_cast<int64_t>(2 * count * sizeof(Element))))) return false;
  std::vector<Element> items(all.begin(), all.end());
  const auto less = [&](const Element& a, const Element& b) {
    return mayCompare(a, b, validation) && bson::compareValues(a, b) < 0;
  };
  if (!validation.goesOnAfter(sortStably(items, validation.work, less))) return false;
  for (size_t i = 1; i < items.size(); ++i) {
    if (!mayCompare(items[i - 1], items[i], validation)) return false;
    if (bson::compareValues(items[i - 1], items[i]) == 0) return false;
  }
  return true;
}

}  // namespace troupe::query
