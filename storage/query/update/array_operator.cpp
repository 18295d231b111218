// The update operators that work on arrays: $push, $addToSet, $pull, $pullAll, $pop.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "messaging/bson/compare.hpp"
#include "storage/query/interruptible_sort.hpp"
#include "storage/query/match/field_path.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/update/operator.hpp"

namespace troupe::query {
namespace {

using bson::Element;
using bson::Type;
using bson::Value;
using bson::View;

Status bad(std::string reason) { return {ErrorCode::kBadValue, std::move(reason)}; }
std::string nameOf(Type type) { return std::string(bson::typeName(type)); }

Value arrayOf(const std::vector<Element>& items) {
  bson::Builder out;
  for (const auto& item : items) out.push(item);
  return out.finishArray();
}

/// The order of $push's $sort: whole elements, or fields of documents.
class ElementOrder {
 public:
  static StatusWith<ElementOrder> parse(const Element& sort, const bson::Collator* collator) {
    const Status wrong =
        bad("The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields");
    ElementOrder order;
    order.collator_ = collator;
    const auto direction = [](const Element& e) {
      return e.isNumber() && std::fabs(e.toDouble()) == 1 ? static_cast<int>(e.toInt64()) : 0;
    };
    if (sort.isNumber()) {
      order.whole_ = direction(sort);
      if (!order.whole_) return bad("The $sort element value must be either 1 or -1");
      return order;
    }
    if (!sort.is(Type::kDocument)) return wrong;
    if (sort.asDocument().empty()) return bad("The $sort pattern is empty when it should be a set of fields.");
    for (const auto& e : sort.asDocument()) {
      if (!direction(e)) return bad("The $sort element value must be either 1 or -1");
      if (e.name().empty()) return bad("The $sort field cannot be empty");
      if (e.name().starts_with('.') || e.name().ends_with('.') || e.name().find("..") != std::string_view::npos)
        return bad("The $sort field '" + std::string(e.name()) + "' is a dotted path with an empty part");
      if (order.fields_.size() == kMaxSortFields)
        return Status(ErrorCode(13103), "too many compound keys: $push sorts by 32 fields at most");
      order.fields_.emplace_back(std::string(e.name()), direction(e));
    }
    return order;
  }
  FieldComparisonSteps steps() const { return {fields_.size()}; }
  bool operator()(const Element& a, const Element& b) const {
    if (whole_) return bson::compareValues(a, b, collator_) * whole_ < 0;
    for (const auto& [path, direction] : fields_) {
      const int order = compareAt(a, b, path) * direction;
      if (order) return order < 0;
    }
    return false;
  }

 private:
  int compareAt(const Element& a, const Element& b, const std::string& path) const {
    static const Value kNull{bson::Null{}};
    const auto field = [&](const Element& e) {
      const Element found = e.is(Type::kDocument) ? e.asDocument().at(path) : Element();
      return found.ok() ? found : kNull.element();
    };
    return bson::compareValues(field(a), field(b), collator_);
  }
  int whole_ = 0;
  std::vector<std::pair<std::string, int>> fields_;
  const bson::Collator* collator_ = nullptr;
};

class Push final : public UpdateOperator {
 public:
  Push(std::string path, Value items, QueryWork* work)
      : UpdateOperator(std::move(path)), items_(std::move(items)), work_(work) {}
  Status configure(View clauses, const ParseContext& context);

  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput& input) const override {
    if (current.ok() && !current.is(Type::kArray))
      return bad("The field '" + path() + "' must be an array but is of type " + nameOf(current.type()) +
                 " in document " + documentId(input));
    const View old = current.ok() ? current.asArray() : View();
    std::vector<Element> result(old.begin(), old.end());
    const View added = items_.element().asArray();
    const auto size = static_cast<int64_t>(result.size());
    const int64_t at = position_ >= 0 ? std::min(position_, size) : std::max<int64_t>(0, size + position_);
    result.insert(result.begin() + at, added.begin(), added.end());
    if (order_) TROUPE_TRY(sortStably(result, work_, *order_, order_->steps()));
    if (slice_) cut(result);
    Value value = arrayOf(result);
    if (current.ok() && value.valueBytes() == current.valueBytes()) return UpdateOutcome::keep();
    return UpdateOutcome::set(std::move(value));
  }
  int depth() const override { return nestingDepth(items_.element()); }

 private:
  void cut(std::vector<Element>& items) const {
    const auto keep = static_cast<size_t>(std::min<int64_t>(std::llabs(*slice_), static_cast<int64_t>(items.size())));
    if (*slice_ < 0) items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(keep));
    else items.resize(keep);
  }
  Value items_;
  QueryWork* work_;
  int64_t position_ = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> slice_;
  std::optional<ElementOrder> order_;
};

Status Push::configure(View clauses, const ParseContext& context) {
  const auto whole = [](const Element& e, const std::string& message) -> StatusWith<int64_t> {
    if (!e.isNumber()) return bad(message + nameOf(e.type()));
    const double d = e.toDouble();
    if (d != std::trunc(d) || !std::isfinite(d)) return bad(message + nameOf(e.type()));
    return std::max<int64_t>(e.toInt64(), -std::numeric_limits<int64_t>::max());
  };
  for (const auto& e : clauses) {
    if (e.name() == "$each") {
      continue;
    } else if (e.name() == "$position") {
      TROUPE_ASSIGN(position_, whole(e, "The value for $position must be an integer value, not of type: "));
    } else if (e.name() == "$slice") {
      TROUPE_ASSIGN(slice_, whole(e, "The value for $slice must be an integer value but was given type: "));
    } else if (e.name() == "$sort") {
      TROUPE_ASSIGN(order_, ElementOrder::parse(e, context.collator));
    } else {
      return bad("Unrecognized clause in $push: " + std::string(e.name()));
    }
  }
  return Status::OK();
}

class AddToSet final : public UpdateOperator {
 public:
  AddToSet(std::string path, Value items, const ParseContext& context)
      : UpdateOperator(std::move(path)), items_(std::move(items)), collator_(context.collator), work_(context.work) {}
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput&) const override {
    if (current.ok() && !current.is(Type::kArray))
      return bad("Cannot apply $addToSet to non-array field. Field named '" + std::string(current.name()) +
                 "' has non-array type " + nameOf(current.type()));
    const View old = current.ok() ? current.asArray() : View();
    std::vector<Element> result(old.begin(), old.end());
    const size_t before = result.size();
    for (const auto& item : items_.element().asArray()) {
      size_t compared = 0;
      const bool known = std::any_of(result.begin(), result.end(), [&](const Element& e) {
        compared += kPerItem + std::min(e.valueSize(), item.valueSize());
        return bson::compareValues(e, item, collator_) == 0;
      });
      if (work_) TROUPE_TRY(work_->step(stepsFor(compared)));
      if (!known) result.push_back(item);
    }
    if (current.ok() && result.size() == before) return UpdateOutcome::keep();
    return UpdateOutcome::set(arrayOf(result));
  }
  int depth() const override { return nestingDepth(items_.element()); }

 private:
  static constexpr size_t kPerItem = 64;  ///< comparing with a small item costs as much as reading so many bytes
  Value items_;
  const bson::Collator* collator_;
  QueryWork* work_;
};

/// $pull, $pullAll: removes the elements a test picks.
class Pull final : public UpdateOperator {
 public:
  Pull(std::string path, std::string_view name, Value operand, const ParseContext& context)
      : UpdateOperator(std::move(path)),
        name_(name),
        operand_(std::move(operand)),
        collator_(context.collator),
        work_(context.work) {}
  Status configure(const ParseContext& context) {
    const Element condition = operand_.element();
    if (name_ == "$pullAll") return Status::OK();
    if (condition.is(Type::kRegex)) {
      byValue_ = true;
      TROUPE_ASSIGN(filter_, parseMatch(bson::doc(kElement, condition), context));
    } else if (condition.is(Type::kDocument)) {
      const auto first = condition.asDocument().first().name();
      byValue_ = first.starts_with('$') && first != "$and" && first != "$or" && first != "$nor" && first != "$expr" &&
                 first != "$ref" && first != "$id" && first != "$db";
      const bson::Document ofElement = bson::doc(kElement, condition.asDocument());
      TROUPE_ASSIGN(filter_, parseMatch(byValue_ ? ofElement.view() : condition.asDocument(), context));
    }
    return Status::OK();
  }
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput&) const override {
    if (!current.ok()) return UpdateOutcome::keep();
    if (!current.is(Type::kArray)) return bad("Cannot apply " + name_ + " to a non-array value");
    std::vector<Element> kept;
    bool removed = false;
    MatchDetails details;
    details.work = work_;
    for (const auto& e : current.asArray()) {
      if (!details.goesOn()) return details.error;
      if (picks(e, details)) removed = true;
      else kept.push_back(e);
    }
    if (!details.error.isOK()) return details.error;
    return removed ? UpdateOutcome::set(arrayOf(kept)) : UpdateOutcome::keep();
  }
  bool creates(const UpdateInput&) const override { return false; }

 private:
  /// `details`: an interrupt shows there.
  bool picks(const Element& e, MatchDetails& details) const {
    if (name_ == "$pullAll") {
      const View values = operand_.element().asArray();
      return std::any_of(values.begin(), values.end(), [&](const Element& v) {
        return details.goesOn() && bson::compareValues(v, e, collator_) == 0;
      });
    }
    if (!filter_) return bson::compareValues(operand_.element(), e, collator_) == 0;
    if (byValue_) return matchesElement(e, details);
    return e.is(Type::kDocument) && filter_->matches(e.asDocument(), &details);
  }
  /// The condition is one on a field, so that it sees into an element that is an array: {$all: [1, 2]} picks [1, 2, 3].
  bool matchesElement(const Element& e, MatchDetails& details) const {
    if (work_) details.error = work_->step(stepsFor(e.valueSize()));
    return details.goesOn() && filter_->matches(bson::doc(kElement, e), &details);
  }
  static constexpr std::string_view kElement = "e";  ///< the field
  std::string name_;
  Value operand_;
  const bson::Collator* collator_;
  QueryWork* work_;
  std::unique_ptr<MatchExpression> filter_;
  bool byValue_ = true;
};

class Pop final : public UpdateOperator {
 public:
  Pop(std::string path, bool front) : UpdateOperator(std::move(path)), front_(front) {}
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput&) const override {
    if (!current.ok()) return UpdateOutcome::keep();
    if (!current.is(Type::kArray))
      return {ErrorCode::kTypeMismatch,
              "Path '" + path() + "' contains an element of non-array type '" + nameOf(current.type()) + "'"};
    const View array = current.asArray();
    std::vector<Element> items(array.begin(), array.end());
    if (items.empty()) return UpdateOutcome::keep();
    items.erase(front_ ? items.begin() : items.end() - 1);
    return UpdateOutcome::set(arrayOf(items));
  }
  bool creates(const UpdateInput&) const override { return false; }
  bool needsPath(const UpdateInput&) const override { return true; }

 private:
  bool front_;
};

/// The values to add: those of `$each`, or the operand alone.
StatusWith<Value> itemsToAdd(std::string_view name, const Element& operand) {
  if (operand.is(Type::kDocument) && operand.asDocument().has("$each")) {
    const Element each = operand.asDocument()["$each"];
    if (!each.is(Type::kArray))
      return Status(name == "$addToSet" ? ErrorCode::kTypeMismatch : ErrorCode::kBadValue,
                    "The argument to $each in " + std::string(name) +
                        " must be an array but it was of type: " + nameOf(each.type()));
    return Value(each);
  }
  return bson::array(operand);
}

}  // namespace

StatusWith<UpdateOperatorPtr> makeArrayOperator(std::string_view name, std::string path, const Element& operand,
                                                const ParseContext& context) {
  if (name == "$push") {
    TROUPE_ASSIGN(auto items, itemsToAdd(name, operand));
    auto push = std::make_unique<Push>(std::move(path), std::move(items), context.work);
    if (operand.is(Type::kDocument) && operand.asDocument().has("$each"))
      TROUPE_TRY(push->configure(operand.asDocument(), context));
    return UpdateOperatorPtr(std::move(push));
  }
  if (name == "$addToSet") {
    TROUPE_ASSIGN(auto items, itemsToAdd(name, operand));
    if (operand.is(Type::kDocument) && operand.asDocument().has("$each") && operand.asDocument().count() > 1)
      return bad("Found unexpected fields after $each in $addToSet: " + describeElement(operand));
    return UpdateOperatorPtr(std::make_unique<AddToSet>(std::move(path), std::move(items), context));
  }
  if (name == "$pull" || name == "$pullAll") {
    if (name == "$pullAll" && !operand.is(Type::kArray))
      return bad("$pullAll requires an array argument but was given a " + nameOf(operand.type()));
    auto pull = std::make_unique<Pull>(std::move(path), name, Value(operand), context);
    TROUPE_TRY(pull->configure(context));
    return UpdateOperatorPtr(std::move(pull));
  }
  if (name == "$pop") {
    if (!operand.isNumber()) return {ErrorCode::kFailedToParse, "Expected a number in: " + describeElement(operand)};
    if (std::fabs(operand.toDouble()) != 1)
      return {ErrorCode::kFailedToParse,
              "$pop expects 1 or -1, found: " + describeElement(operand).substr(operand.name().size() + 2)};
    return UpdateOperatorPtr(std::make_unique<Pop>(std::move(path), operand.toDouble() < 0));
  }
  return {ErrorCode::kFailedToParse,
          "Unknown modifier: " + std::string(name) +
              ". Expected a valid update modifier or pipeline-style update specified as an array"};
}

}  // namespace troupe::query
