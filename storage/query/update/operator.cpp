#include "storage/query/update/operator.hpp"

#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/numeric.hpp"
#include "storage/query/match/field_path.hpp"

namespace troupe::query {
namespace {

using bson::Element;
using bson::Type;
using bson::Value;

bool sameValue(const Element& a, const Element& b) { return a.type() == b.type() && a.valueBytes() == b.valueBytes(); }

UpdateOutcome setUnlessSame(const Element& current, const Element& value) {
  return sameValue(current, value) ? UpdateOutcome::keep() : UpdateOutcome::set(value);
}
UpdateOutcome setUnlessSame(const Element& current, Value value) {
  return sameValue(current, value.element()) ? UpdateOutcome::keep() : UpdateOutcome::set(std::move(value));
}

class Set final : public UpdateOperator {
 public:
  Set(std::string path, const Element& operand, bool onInsertOnly)
      : UpdateOperator(std::move(path)), operand_(operand), onInsertOnly_(onInsertOnly) {}
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput& input) const override {
    if (onInsertOnly_ && !input.isInsert) return UpdateOutcome::keep();
    return setUnlessSame(current, operand_.element());
  }
  bool creates(const UpdateInput& input) const override { return !onInsertOnly_ || input.isInsert; }
  int depth() const override { return nestingDepth(operand_.element()); }

 private:
  Value operand_;
  bool onInsertOnly_;
};

class Unset final : public UpdateOperator {
 public:
  using UpdateOperator::UpdateOperator;
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput&) const override {
    return current.ok() ? UpdateOutcome::remove() : UpdateOutcome::keep();
  }
  bool creates(const UpdateInput&) const override { return false; }
  bool removesOnly() const override { return true; }
};

/// $inc and $mul.
class Arithmetic final : public UpdateOperator {
 public:
  Arithmetic(std::string path, const Element& operand, bool multiplies)
      : UpdateOperator(std::move(path)), operand_(operand), multiplies_(multiplies) {}

  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput& input) const override {
    const char* name = multiplies_ ? "$mul" : "$inc";
    if (!current.ok()) {
      if (!multiplies_) return UpdateOutcome::set(operand_.element());
      TROUPE_ASSIGN(auto zero, bson::multiply(Value(int32_t{0}).element(), operand_.element(), bson::Overflow::kFail));
      return UpdateOutcome::set(std::move(zero));
    }
    if (!current.isNumber())
      return {ErrorCode::kTypeMismatch, std::string("Cannot apply ") + name + " to a value of non-numeric type. " +
                                            documentId(input) + " has the field '" + std::string(current.name()) +
                                            "' of non-numeric type " + std::string(bson::typeName(current.type()))};
    auto result = multiplies_ ? bson::multiply(current, operand_.element(), bson::Overflow::kFail)
                              : bson::add(current, operand_.element(), bson::Overflow::kFail);
    if (!result.isOK())
      return {ErrorCode::kBadValue, std::string("Failed to apply ") + name + " operations to current value (" +
                                        numberText(current) + ") for document " + documentId(input)};
    // The same number of the same type changes nothing, whatever its digits: -0.0 stays.
    if (result->type() == current.type() && bson::compareNumbers(result->element(), current) == 0)
      return UpdateOutcome::keep();
    return setUnlessSame(current, std::move(result).value());
  }

 private:
  static std::string numberText(const Element& e) {
    const char* type = e.is(Type::kInt32) ? "(NumberInt)" : e.is(Type::kInt64) ? "(NumberLong)" : "";
    return type + bson::toRelaxedJson(e);
  }
  Value operand_;
  bool multiplies_;
};

class Bound final : public UpdateOperator {
 public:
  Bound(std::string path, const Element& operand, bool isMax, const bson::Collator* collator)
      : UpdateOperator(std::move(path)), operand_(operand), isMax_(isMax), collator_(collator) {}
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput&) const override {
    if (!current.ok()) return UpdateOutcome::set(operand_.element());
    const int order = bson::compareValues(operand_.element(), current, collator_);
    return (isMax_ ? order > 0 : order < 0) ? UpdateOutcome::set(operand_.element()) : UpdateOutcome::keep();
  }
  int depth() const override { return nestingDepth(operand_.element()); }

 private:
  Value operand_;
  bool isMax_;
  const bson::Collator* collator_;
};

class Bitwise final : public UpdateOperator {
 public:
  Bitwise(std::string path, const Element& operations) : UpdateOperator(std::move(path)), operations_(operations) {}
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput& input) const override {
    if (current.ok() && !current.is(Type::kInt32) && !current.is(Type::kInt64))
      return {ErrorCode::kBadValue, "Cannot apply $bit to a value of non-integral type." + documentId(input) +
                                        " has the field " + std::string(current.name()) + " of non-integer type " +
                                        std::string(bson::typeName(current.type()))};
    bool wide = current.is(Type::kInt64);
    int64_t n = current.ok() ? current.toInt64() : 0;
    for (const auto& operation : operations_.element().asDocument()) {
      wide = wide || operation.is(Type::kInt64);
      const int64_t operand = operation.toInt64();
      if (operation.name() == "and") n &= operand;
      else if (operation.name() == "or") n |= operand;
      else n ^= operand;
    }
    return setUnlessSame(current, wide ? Value(n) : Value(static_cast<int32_t>(n)));
  }

 private:
  Value operations_;
};

class RenameTo final : public UpdateOperator {
 public:
  RenameTo(std::string target, std::string source)
      : UpdateOperator(std::move(target)), source_(source), target_(path()) {}
  StatusWith<UpdateOutcome> apply(const Element& current, const UpdateInput& input) const override {
    TROUPE_ASSIGN(const Element from, find(source_, "source", input));
    if (!from.ok()) return UpdateOutcome::keep();
    TROUPE_TRY(find(target_, "destination", input).status());
    return setUnlessSame(current, from);
  }
  bool creates(const UpdateInput& input) const override {
    const auto from = find(source_, "source", input);
    return !from.isOK() || from->ok();
  }
  int depth() const override { return bson::kMaxNestingDepth; }  // what moves is not known yet: have the result checked

 private:
  static StatusWith<Element> find(const FieldPath& path, std::string_view which, const UpdateInput& input) {
    Element at = input.document[path[0]];
    for (size_t i = 1; i < path.size() && at.ok(); ++i) {
      if (at.is(Type::kArray))
        return {ErrorCode::kBadValue, "The " + std::string(which) + " field cannot be an array element, '" +
                                          path.text() +
                                          "' in doc with _id: " + bson::toRelaxedJson(input.document["_id"]) +
                                          " has an array field called '" + std::string(at.name()) + "'"};
      at = at.is(Type::kDocument) ? at.asDocument()[path[i]] : Element();
    }
    return at;
  }
  FieldPath source_;
  FieldPath target_;
};

StatusWith<UpdateOperatorPtr> currentDate(std::string path, const Element& operand, const ParseContext& context) {
  bool timestamp = false;
  if (operand.is(Type::kDocument)) {
    for (const auto& e : operand.asDocument())
      if (e.name() != "$type")
        return {ErrorCode::kBadValue, "Unrecognized $currentDate option: " + std::string(e.name())};
    const auto type = operand.asDocument()["$type"].toStringOr();
    if (type != "date" && type != "timestamp")
      return {ErrorCode::kBadValue,
              "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: "
              "'date'}}}"};
    timestamp = type == "timestamp";
  } else if (!operand.is(Type::kBool)) {
    return {ErrorCode::kBadValue, std::string(bson::typeName(operand.type())) +
                                      " is not valid type for $currentDate. Please use a boolean ('true') or a $type "
                                      "expression ({$type: 'timestamp/date'})."};
  }
  auto now = timestamp ? Value(context.clusterTime) : Value(context.now);
  if (timestamp && context.clusterTime == bson::Timestamp{})
    now = Value(bson::Timestamp{static_cast<uint32_t>(context.now.millis / 1000), 1});
  return UpdateOperatorPtr(std::make_unique<Set>(std::move(path), now.element(), false));
}

StatusWith<UpdateOperatorPtr> bitwise(std::string path, const Element& operand) {
  if (!operand.is(Type::kDocument))
    return {ErrorCode::kBadValue, "The $bit modifier is not compatible with a " +
                                      std::string(bson::typeName(operand.type())) +
                                      ". You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}"};
  for (const auto& e : operand.asDocument()) {
    if (e.name() != "and" && e.name() != "or" && e.name() != "xor")
      return {ErrorCode::kBadValue, "The $bit modifier only supports 'and', 'or', and 'xor', not '" +
                                        std::string(e.name()) + "' which is an unknown operator: {" +
                                        describeElement(e) + "}"};
    if (!e.is(Type::kInt32) && !e.is(Type::kInt64))
      return {ErrorCode::kBadValue, "The $bit modifier field must be an Integer(32/64 bit); a '" +
                                        std::string(bson::typeName(e.type())) + "' is not supported here: {" +
                                        describeElement(e) + "}"};
  }
  if (operand.asDocument().empty())
    return {ErrorCode::kBadValue,
            "You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}"};
  return UpdateOperatorPtr(std::make_unique<Bitwise>(std::move(path), operand));
}

}  // namespace

std::string UpdateOperator::documentId(const UpdateInput& input) {
  const Element id = input.document["_id"];
  return id.ok() ? "{" + describeElement(id) + "}" : "{}";
}

std::string describeElement(const Element& e) { return std::string(e.name()) + ": " + bson::toRelaxedJson(e); }

int nestingDepth(const Element& e) {
  if (!e.isObjectLike()) return 0;
  int below = 0;
  for (const auto& item : e.asDocument()) below = std::max(below, nestingDepth(item));
  return below + 1;
}

UpdateOperatorPtr renameTo(std::string target, std::string source) {
  return std::make_unique<RenameTo>(std::move(target), std::move(source));
}
UpdateOperatorPtr renameFrom(std::string source) { return std::make_unique<Unset>(std::move(source)); }

StatusWith<UpdateOperatorPtr> makeUpdateOperator(std::string_view name, std::string path, const Element& operand,
                                                 const ParseContext& context) {
  if (name == "$set" || name == "$setOnInsert")
    return UpdateOperatorPtr(std::make_unique<Set>(std::move(path), operand, name == "$setOnInsert"));
  if (name == "$unset") return UpdateOperatorPtr(std::make_unique<Unset>(std::move(path)));
  if (name == "$inc" || name == "$mul") {
    if (!operand.isNumber())
      return {ErrorCode::kTypeMismatch, std::string(name == "$inc" ? "Cannot increment" : "Cannot multiply") +
                                            " with non-numeric argument: {" + describeElement(operand) + "}"};
    return UpdateOperatorPtr(std::make_unique<Arithmetic>(std::move(path), operand, name == "$mul"));
  }
  if (name == "$min" || name == "$max")
    return UpdateOperatorPtr(std::make_unique<Bound>(std::move(path), operand, name == "$max", context.collator));
  if (name == "$currentDate") return currentDate(std::move(path), operand, context);
  if (name == "$bit") return bitwise(std::move(path), operand);
  return makeArrayOperator(name, std::move(path), operand, context);
}

}  // namespace troupe::query
