#include "storage/query/match/predicates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/interruptible_sort.hpp"
#include "storage/query/match/regex.hpp"

namespace troupe::query {
namespace {

using bson::Element;
using bson::Type;

bool isNaN(const Element& e) {
  if (e.is(Type::kDouble)) return std::isnan(e.asDouble());
  return e.is(Type::kDecimal128) && bson::isNaN(e.asDecimal());
}

bool isNullRank(const Element& e) { return e.isNullish(); }

bool holds(MatchKind op, int order) {
  switch (op) {
    case MatchKind::kLt: return order < 0;
    case MatchKind::kLte: return order <= 0;
    case MatchKind::kGt: return order > 0;
    case MatchKind::kGte: return order >= 0;
    default: return order == 0;
  }
}

bool allowsEqual(MatchKind op) { return op == MatchKind::kEq || op == MatchKind::kLte || op == MatchKind::kGte; }

/// Counts the steps of comparing so many bytes; small ones are covered by the step of the visit. False once the
/// operation has to end.
bool countsComparing(MatchDetails* details, size_t bytes) {
  constexpr size_t kSmall = 4096;
  return bytes <= kSmall || !details || details->goesOn(stepsFor(bytes));
}

class Compare final : public Predicate {
 public:
  Compare(MatchKind op, const Element& operand, const bson::Collator* collator)
      : op_(op), operand_(operand), collator_(collator) {}
  bool test(const Element& e, MatchDetails* details) const override {
    return countsComparing(details, std::min<size_t>(e.valueSize(), operand_.valueSize())) &&
           compareMatches(op_, e, operand_, collator_);
  }

 private:
  MatchKind op_;
  Element operand_;
  const bson::Collator* collator_;
};

/// Strings, symbols, and the same regular expression as a value.
class RegexTest final : public Predicate {
 public:
  explicit RegexTest(std::shared_ptr<const CompiledRegex> regex) : regex_(std::move(regex)) {}
  bool test(const Element& e, MatchDetails* details) const override {
    if (e.is(Type::kRegex)) return e.asRegex().pattern == regex_->pattern() && e.asRegex().options == regex_->options();
    if (!e.is(Type::kString) && !e.is(Type::kSymbol)) return false;
    const auto matched = regex_->matches(e.asString(), details ? details->work : nullptr);
    if (matched.isOK()) return *matched;
    if (details) details->error = matched.status();
    return false;
  }
  bool canFail() const override { return true; }

 private:
  std::shared_ptr<const CompiledRegex> regex_;
};

/// Membership by binary search; null and regular expressions apart.
class In final : public Predicate {
 public:
  In(const bson::Collator* collator, QueryWork* work) : collator_(collator), held_(work) {}
  /// Errors: ExceededMemoryLimit, those of regular expressions and of an interrupt.
  Status fill(const Element& array, QueryWork* work) {
    for (const auto& e : array.asArray()) {
      if (work) TROUPE_TRY(work->step());
      if (isNullRank(e)) {
        hasNull_ = true;
      } else if (e.is(Type::kRegex)) {
        TROUPE_ASSIGN(auto regex, CompiledRegex::compile(e.asRegex().pattern, e.asRegex().options, work));
        regexes_.emplace_back(std::move(regex));
      } else {
        values_.push_back(e);
        TROUPE_TRY(held_.set(static_cast<int64_t>(2 * sizeof(Element) * values_.size())));  // the sort copies them
      }
    }
    return sortStably(values_, work,
                      [&](const Element& a, const Element& b) { return bson::compareValues(a, b, collator_) < 0; });
  }
  bool test(const Element& e, MatchDetails* details) const override {
    if (isNullRank(e)) return hasNull_;
    if (!countsComparing(details, e.valueSize())) return false;
    const auto at = std::lower_bound(values_.begin(), values_.end(), e, [&](const Element& a, const Element& b) {
      return bson::compareValues(a, b, collator_) < 0;
    });
    if (at != values_.end() && bson::compareValues(*at, e, collator_) == 0) return true;
    return std::any_of(regexes_.begin(), regexes_.end(),
                       [&](const RegexTest& r) { return (!details || details->goesOn()) && r.test(e, details); });
  }
  bool canFail() const override { return !regexes_.empty(); }

 private:
  std::vector<Element> values_;
  std::vector<RegexTest> regexes_;
  bool hasNull_ = false;
  const bson::Collator* collator_;
  HeldMemory held_;
};

class Exists final : public Predicate {
 public:
  bool test(const Element& e, MatchDetails*) const override { return e.ok(); }
};

class Size final : public Predicate {
 public:
  explicit Size(int64_t size) : size_(size) {}
  bool test(const Element& e, MatchDetails*) const override {
    return e.is(Type::kArray) && e.asArray().count() == size_;
  }

 private:
  int64_t size_;
};

class Mod final : public Predicate {
 public:
  Mod(int64_t divisor, int64_t remainder) : divisor_(divisor), remainder_(remainder) {}
  bool test(const Element& e, MatchDetails*) const override {
    if (!e.isNumber()) return false;
    const auto n = truncatedInt64(e);
    // INT64_MIN % -1 traps.
    return n && (divisor_ == -1 ? 0 : *n % divisor_) == remainder_;
  }

 private:
  int64_t divisor_;
  int64_t remainder_;
};

class TypeTest final : public Predicate {
 public:
  explicit TypeTest(TypeSet types) : types_(types) {}
  bool test(const Element& e, MatchDetails*) const override { return e.ok() && types_.contains(e.type()); }

 private:
  TypeSet types_;
};

class Bits final : public Predicate {
 public:
  Bits(MatchKind op, BitMask mask) : op_(op), mask_(std::move(mask)) {}
  bool test(const Element& e, MatchDetails* details) const override {
    if (e.is(Type::kBinary)) {
      const auto bytes = e.asBinary().bytes;
      if (details && !details->goesOn(stepsFor(bytes.size()))) return false;
      return decide({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, false);
    }
    if (!e.isNumber()) return false;
    const auto whole = exactInt64(e);  // only whole numbers within the range of int64 have bits
    if (!whole) return false;
    const auto n = static_cast<uint64_t>(*whole);
    std::array<uint8_t, 8> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(n >> (8 * i));
    return decide(bytes, bytes.back() >> 7 != 0);  // the sign goes on for ever
  }

 private:
  bool decide(std::span<const uint8_t> bytes, bool onesFollow) const {
    switch (op_) {
      case MatchKind::kBitsAllSet: return !mask_.anyClear(bytes, onesFollow);
      case MatchKind::kBitsAllClear: return !mask_.anySet(bytes, onesFollow);
      case MatchKind::kBitsAnySet: return mask_.anySet(bytes, onesFollow);
      default: return mask_.anyClear(bytes, onesFollow);
    }
  }
  MatchKind op_;
  BitMask mask_;
};

}  // namespace

bool compareMatches(MatchKind op, const Element& value, const Element& operand, const bson::Collator* collator) {
  const Type operandType = operand.type();
  if (operandType == Type::kMinKey || operandType == Type::kMaxKey) {
    if (op == MatchKind::kEq) return value.type() == operandType;
    return holds(op, bson::compareValues(value, operand, collator));  // these bounds reach across types
  }
  if (isNullRank(operand)) return isNullRank(value) && allowsEqual(op);
  if (!value.ok() || bson::canonicalRank(value.type()) != bson::canonicalRank(operandType)) return false;
  if (operand.isNumber() && (isNaN(value) || isNaN(operand))) return allowsEqual(op) && isNaN(value) && isNaN(operand);
  return holds(op, bson::compareValues(value, operand, collator));
}

std::unique_ptr<Predicate> comparePredicate(MatchKind op, const Element& operand, const bson::Collator* collator) {
  return std::make_unique<Compare>(op, operand, collator);
}

StatusWith<std::unique_ptr<Predicate>> inPredicate(const Element& array, const ParseContext& context) {
  for (const auto& e : array.asArray()) {
    if (e.is(Type::kDocument) && e.asDocument().first().name().starts_with('$')) {
      const auto name = e.asDocument().first().name();
      if (name != "$ref" && name != "$id" && name != "$db") return {ErrorCode::kBadValue, "cannot nest $ under $in"};
    }
    if (e.is(Type::kUndefined)) return {ErrorCode::kBadValue, "InMatchExpression equality cannot be undefined"};
  }
  auto in = std::make_unique<In>(context.collator, context.work);
  TROUPE_TRY(in->fill(array, context.work));
  return std::unique_ptr<Predicate>(std::move(in));
}

StatusWith<std::unique_ptr<Predicate>> regexPredicate(std::string_view pattern, std::string_view options,
                                                      QueryWork* work) {
  TROUPE_ASSIGN(auto regex, CompiledRegex::compile(pattern, options, work));
  return std::unique_ptr<Predicate>(std::make_unique<RegexTest>(std::move(regex)));
}

std::unique_ptr<Predicate> existsPredicate() { return std::make_unique<Exists>(); }
std::unique_ptr<Predicate> sizePredicate(int64_t size) { return std::make_unique<Size>(size); }
std::unique_ptr<Predicate> modPredicate(int64_t divisor, int64_t remainder) {
  return std::make_unique<Mod>(divisor, remainder);
}
std::unique_ptr<Predicate> typePredicate(TypeSet types) { return std::make_unique<TypeTest>(types); }
std::unique_ptr<Predicate> bitsPredicate(MatchKind op, BitMask mask) {
  return std::make_unique<Bits>(op, std::move(mask));
}

}  // namespace troupe::query
