#pragma once
#include <memory>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/query/match/bit_mask.hpp"
#include "storage/query/match/match_expression.hpp"
#include "storage/query/parse_context.hpp"

namespace troupe::query {

/// Compares a value with `operand` (kEq, kLt, kLte, kGt, kGte) as filters do: only values of the operand's canonical
/// type match (null also matches undefined and absent), NaN equals only NaN and is neither less nor greater. Strings by
/// the collator. The operand is borrowed.
bool compareMatches(MatchKind op, const bson::Element& value, const bson::Element& operand,
                    const bson::Collator* collator);

/// The tests of leaves. Each borrows `operand`, which must live as long (the node owns it).
std::unique_ptr<Predicate> comparePredicate(MatchKind op, const bson::Element& operand, const bson::Collator* collator);
/// Errors: BadValue ("cannot nest $ under $in"), those of regular expressions.
StatusWith<std::unique_ptr<Predicate>> inPredicate(const bson::Element& array, const ParseContext& context);
StatusWith<std::unique_ptr<Predicate>> regexPredicate(std::string_view pattern, std::string_view options,
                                                      QueryWork* work);
std::unique_ptr<Predicate> existsPredicate();
std::unique_ptr<Predicate> sizePredicate(int64_t size);
std::unique_ptr<Predicate> modPredicate(int64_t divisor, int64_t remainder);
std::unique_ptr<Predicate> bitsPredicate(MatchKind op, BitMask mask);

/// A set of types as `$type`, bsonType and the like name them.
class TypeSet {
 public:
  /// Adds a type code, an alias, or each of an array. Errors: BadValue (unknown), TypeMismatch, FailedToParse (empty).
  Status add(const bson::Element& e, std::string_view path);
  Status addAlias(std::string_view alias);
  bool contains(bson::Type type) const { return (mask_ >> bit(type)) & 1; }
  bool any() const { return mask_ != 0; }
  void insert(bson::Type type) { mask_ |= uint64_t{1} << bit(type); }

 private:
  static int bit(bson::Type type);
  uint64_t mask_ = 0;
};
std::unique_ptr<Predicate> typePredicate(TypeSet types);

/// `$expr`. Errors: those of parsing the expression.
StatusWith<std::unique_ptr<Predicate>> exprPredicate(const bson::Element& expression, const ParseContext& context);

}  // namespace troupe::query
