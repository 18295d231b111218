#include "storage/query/expression/expression.hpp"
#include "storage/query/match/predicates.hpp"

namespace troupe::query {
namespace {

class ExprTest final : public Predicate {
 public:
  ExprTest(ExpressionPtr expression, QueryWork* work) : expression_(std::move(expression)), work_(work) {}
  bool test(const bson::Element&, MatchDetails*) const override { return false; }
  StatusWith<bool> testDocument(bson::View document) const override {
    Variables variables(work_, document);
    TROUPE_ASSIGN(const auto value, expression_->evaluate(variables));
    return isTrue(value);
  }
  bool canFail() const override { return true; }

 private:
  ExpressionPtr expression_;
  QueryWork* work_;
};

}  // namespace

StatusWith<std::unique_ptr<Predicate>> exprPredicate(const bson::Element& expression, const ParseContext& context) {
  TROUPE_ASSIGN(auto parsed, parseExpression(expression, context));
  return std::unique_ptr<Predicate>(std::make_unique<ExprTest>(std::move(parsed), context.work));
}

}  // namespace troupe::query
