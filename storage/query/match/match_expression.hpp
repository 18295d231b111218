#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/match/field_path.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// Kinds of nodes of a filter. $ne, $nin and {$exists: false} are kNot over the positive form; $all is kAnd.
enum class MatchKind {
  // logic over children()
  kAnd,
  kOr,
  kNor,
  kNot,
  kAlwaysTrue,
  kAlwaysFalse,
  // a path against operand()
  kEq,
  kLt,
  kLte,
  kGt,
  kGte,
  kIn,
  kRegex,
  kMod,
  kExists,
  kType,
  kSize,
  kBitsAllSet,
  kBitsAllClear,
  kBitsAnySet,
  kBitsAnyClear,
  // an array at path(): children().front() over its elements
  kElemMatchObject,
  kElemMatchValue,
  // the whole document
  kExpr,
  kJsonSchema,
};

/// Details of a match beside yes or no.
struct MatchDetails {
  /// Position of the first element that matched in the array the filter went through; -1 when there was none. The
  /// positional `$` of updates and projections stands for it.
  int64_t arrayIndex = -1;
  /// The failure of an expression within $expr or of a regular expression, or an interrupt: when set, the answer means
  /// nothing and the operation has to fail with it.
  Status error;
  /// The operation that looks at large documents: each value compared is a step of it. Null: no interrupts.
  QueryWork* work = nullptr;

  /// False once `error` is set.
  bool goesOn(int64_t steps = 1) {
    if (error.isOK() && work && !work->counts(steps)) [[unlikely]]
      error = work->look();
    return error.isOK();
  }
};

/// The test a leaf makes of one value; `e` may be absent (the path leads nowhere).
class Predicate {
 public:
  virtual ~Predicate() = default;
  /// `details`: for the failure and the operation of a test that can fail; may be null.
  virtual bool test(const bson::Element& e, MatchDetails* details) const = 0;
  bool test(const bson::Element& e) const { return test(e, nullptr); }
  /// For tests of whole documents ($expr, $jsonSchema).
  virtual StatusWith<bool> testDocument(bson::View) const { return false; }
  /// May it fail, and take long though the value is small? ($expr, $jsonSchema, regular expressions)
  virtual bool canFail() const { return false; }
};

/// A parsed filter: an immutable tree over owned operands. `matches` neither allocates nor changes anything, so one
/// tree may serve many threads, except that $expr evaluates an expression (it allocates its results). Built by
/// parseMatch (match_parser.hpp).
class MatchExpression {
 public:
  using Children = std::vector<std::unique_ptr<MatchExpression>>;

  MatchExpression(MatchKind kind, std::string_view path, bson::Value operand = {},
                  std::unique_ptr<Predicate> predicate = nullptr);
  MatchExpression(MatchKind kind, Children children);

  MatchKind kind() const { return kind_; }
  /// The dotted path of a leaf or $elemMatch; empty for logic, for $expr, and directly inside a value $elemMatch.
  const std::string& path() const { return path_.text(); }
  const FieldPath& fieldPath() const { return path_; }
  /// The operand as it was given: the value of comparisons; the regex as a regex value (options included); for $in the
  /// array; $mod the pair; $size the number; for $type the code, alias or array; for $exists true. Absent for logic.
  bson::Element operand() const { return operand_.element(); }
  const Children& children() const { return children_; }
  /// The test of a leaf, or null.
  const Predicate* predicate() const { return predicate_.get(); }

  /// Does the document match? With `details`, also where in an array. For filters of clients, pass details
  /// and look at `error` when `canFail()`.
  bool matches(bson::View document, MatchDetails* details = nullptr) const;
  /// Is there an $expr, a $jsonSchema or a regular expression, which may fail and take long on any document?
  bool canFail() const;
  /// Does one value match, as an element tested by a value $elemMatch or by $pull? Paths are ignored; logic applies.
  bool matchesValue(const bson::Element& value, MatchDetails* details = nullptr) const;

  /// The filter in normal form, as explain shows it: `{a: {$eq: 1}}`, `{$and: [...]}`.
  bson::Document toBson() const;

  // For the parser.
  void setPredicate(std::unique_ptr<Predicate> predicate) { predicate_ = std::move(predicate); }
  Children takeChildren() { return std::move(children_); }
  void addChild(std::unique_ptr<MatchExpression> child) { children_.push_back(std::move(child)); }
  /// At the root: what the whole tree takes, charged to the operation that it was parsed for.
  void keep(HeldMemory held) { held_ = std::move(held); }

 private:
  bool matchesAll(bson::View document, MatchDetails& details) const;
  bool matchesNone(bson::View document, MatchDetails* details) const;
  bool matchesDocumentTest(bson::View document, MatchDetails* details) const;
  bool matchesArray(const bson::Element& array, int64_t* index, MatchDetails* details) const;
  void serialize(bson::Builder& out) const;
  /// Writes `$op: operand` into an open document of operators.
  void serializeOperator(bson::Builder& out) const;

  MatchKind kind_;
  FieldPath path_;
  bson::Value operand_;
  Children children_;
  std::unique_ptr<Predicate> predicate_;
  HeldMemory held_{nullptr};
};

/// The operator's name in filters: "$eq", "$and" ...
std::string_view matchOperatorName(MatchKind kind);

}  // namespace troupe::query
