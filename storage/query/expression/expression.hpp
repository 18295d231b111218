#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/expression/operand.hpp"
#include "storage/query/nesting.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

struct ParseContext;

/// Input of an evaluation: the document, and the variables bound by enclosing expressions; and the operation that it
/// works for. Not thread-safe; one per evaluating thread, reused from document to document.
class Variables {
 public:
  Variables() = default;
  /// Evaluates for an operation (null: none), which outlives this.
  explicit Variables(QueryWork* work, bson::View root = {}) : work_(work) { setRoot(root); }
  /// Evaluates over one document: `$$ROOT` and `$$CURRENT` are both `root`.
  explicit Variables(bson::View root) { setRoot(root); }
  void setRoot(bson::View root) { root_ = current_ = root; }
  void setCurrent(bson::View current) { current_ = current; }
  /// What is known of the document beside its fields, by the names of `$meta`; holds until it is set again.
  void setMetadata(bson::View metadata) { metadata_ = metadata; }
  bson::View metadata() const { return metadata_; }
  bson::View root() const { return root_; }
  bson::View current() const { return current_; }

  /// Binds a slot (chosen by the parser); the value may be missing.
  void bind(size_t slot, Operand value) {
    if (slot >= slots_.size()) slots_.resize(slot + 1);
    slots_[slot] = std::move(value);
  }
  const Operand& at(size_t slot) const { return slots_[slot]; }

  /// The operation; null: neither interrupts nor limits.
  QueryWork* work() const { return work_; }
  /// QueryWork::step.
  Status step(int64_t work = 1) { return work_ ? work_->step(work) : Status::OK(); }
  /// Counts the work that made a result, and charges the result's memory if it is large. Errors: ExceededMemoryLimit,
  /// those of an interrupt; Overflow for one that is nested too deeply.
  Status account(Operand& result) {
    constexpr size_t kShallow = 1024;  // bytes that hold no such depth
    if (work_ && result.ownedBytes() > storage::MemoryBudget::kFree) [[unlikely]] {
      TROUPE_TRY(result.charge(work_->memory()));
      TROUPE_TRY(work_->step(stepsFor(result.ownedBytes())));
    }
    if (result.ownedBytes() > kShallow) [[unlikely]]
      TROUPE_TRY(checkNesting(result.element(), Operand::kMaxDepth, work_));
    return step();
  }
  /// A value found by walking `bytes` of another one, accounted for.
  StatusWith<Operand> found(Operand value, size_t bytes) {
    if (!work_) return value;
    TROUPE_TRY(work_->step(stepsFor(bytes)));
    if (value.owned()) TROUPE_TRY(account(value));  // it crossed arrays
    return value;
  }
  /// A result that is accounted for.
  StatusWith<Operand> own(bson::Value value) {
    Operand result(std::move(value));
    TROUPE_TRY(account(result));
    return result;
  }

  /// The source of `$rand`, uniform in [0, 1); without one a thread-local generator is used.
  std::function<double()> random;
  /// Evaluates for $group, where the error of a zero divisor has another code: the server has another engine for it.
  bool grouping = false;

 private:
  bson::View root_;
  bson::View current_;
  bson::View metadata_;
  QueryWork* work_ = nullptr;
  std::deque<Operand> slots_;  // stable: results may borrow from a slot while another is added
};

/// Dependencies of an expression or stage on its input.
struct Dependencies {
  std::set<std::string> paths;  ///< dotted paths
  bool wholeDocument = false;   ///< `$$ROOT` or the like: every field
  bool random = false;          ///< not a function of its input
  bool indexKey = false;        ///< {$meta: "indexKey"}: the source has to decode the key of each document
};

class Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

/// A parsed aggregation expression. Immutable after parsing, so that threads may share it with their own Variables.
class Expression {
 public:
  virtual ~Expression() = default;
  /// Evaluates over the variables. The result may borrow from the document, the variables or this expression.
  /// Errors: those the server answers for the operator, e.g. TypeMismatch (14) for `{$add: [1, "x"]}`.
  virtual StatusWith<Operand> evaluate(Variables& variables) const = 0;
  /// Adds what the expression reads.
  virtual void addDependencies(Dependencies& dependencies) const = 0;
  /// Appends the expression in its parseable form under `name` (explain; constants become $const).
  virtual void serialize(std::string_view name, bson::Builder& out) const = 0;
  /// The constant this expression is, or null.
  virtual const Operand* constant() const { return nullptr; }
  /// The dotted path for a plain field path ("a.b" of "$a.b"), else empty.
  virtual std::string_view fieldPath() const { return {}; }

  /// Evaluates over one document, to a value of its own.
  StatusWith<bson::Value> evaluate(bson::View root, Variables& variables) const;
};

/// Parses an expression: a field path ("$a.b"), variable ("$$ROOT"), operator document, object or array of expressions,
/// or literal. Constant operands are folded. Feature group: aggregation expressions.
/// Errors: InvalidPipelineOperator (168) for unknown operators, UndefinedVariable (17276), arity (16020) and per
/// operator.
StatusWith<ExpressionPtr> parseExpression(const bson::Element& expression, const ParseContext& context);

/// The truth of a value as $cond, $and and $match see it: false for missing, null, false and zeros.
bool isTrue(const Operand& operand);

/// True for names of expression operators ("$add"), for those who have to tell `{a: {$add: [...]}}` from a
/// sub-document.
bool isExpressionOperator(std::string_view name);

}  // namespace troupe::query
