#include "storage/query/nesting.hpp"

#include <string>

#include "storage/query/expression/operand.hpp"

namespace troupe::query {

namespace {

class NestingWalk {
 public:
  explicit NestingWalk(QueryWork* work) : work_(work) {}

  /// `object` is a document or array, whose own level is the first of `levels`.
  Status check(const bson::Element& object, int levels) {
    if (levels <= 0) return nestedTooDeeply();
    if (object.valueSize() <= kLeastBytes * static_cast<size_t>(levels)) return Status::OK();
    for (const bson::Element& item : object.asDocument()) {
      if (++items_ % kItemsPerStep == 0 && work_) TROUPE_TRY(work_->step());
      if (item.isObjectLike()) TROUPE_TRY(check(item, levels - 1));
    }
    return Status::OK();
  }

 private:
  static constexpr size_t kLeastBytes = 7;  ///< that a level takes: a length, an end, and the header of its field
  static constexpr size_t kItemsPerStep = 128;
  QueryWork* work_;
  size_t items_ = 0;
};

}  // namespace

Status nestedTooDeeply() {
  return {ErrorCode::kOverflow,
          "a computed value would be nested deeper than " + std::to_string(Operand::kMaxDepth) + " levels"};
}

Status checkNesting(const bson::Element& value, int levels, QueryWork* work) {
  return value.isObjectLike() ? NestingWalk(work).check(value, levels) : Status::OK();
}

}  // namespace troupe::query
