#pragma once
#include <cmath>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/accumulator.hpp"
#include "storage/query/expression/objects.hpp"
#include "storage/query/expression/sum.hpp"
#include "storage/query/expression/values.hpp"

// The states of accumulators.
namespace troupe::query {

class SumAccumulator final : public Accumulator {
 public:
  Status add(const bson::Element& value) override {
    sum_.add(value);
    return Status::OK();
  }
  StatusWith<bson::Value> result() const override { return sum_.value(); }
  bool remove(const bson::Element& value) override {
    sum_.remove(value);
    return true;
  }

 private:
  Sum sum_;
};

class CountAccumulator final : public Accumulator {
 public:
  Status add(const bson::Element&) override {
    ++count_;
    return Status::OK();
  }
  StatusWith<bson::Value> result() const override { return integer(count_); }
  bool remove(const bson::Element&) override {
    --count_;
    return true;
  }

 private:
  int64_t count_ = 0;
};

class AverageAccumulator final : public Accumulator {
 public:
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override { return count_ == 0 ? nullValue() : sum_.average(count_); }
  bool remove(const bson::Element& value) override;

 private:
  Sum sum_;
  int64_t count_ = 0;
};

/// $min and $max: null and missing do not count.
class ExtremeAccumulator final : public Accumulator {
 public:
  ExtremeAccumulator(bool largest, const bson::Collator* collator) : largest_(largest), collator_(collator) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override { return best_.ok() ? best_ : nullValue(); }
  size_t memory() const override { return best_.valueBytes().size(); }

 private:
  bool largest_;
  const bson::Collator* collator_;
  bson::Value best_;
};

class FirstLastAccumulator final : public Accumulator {
 public:
  explicit FirstLastAccumulator(bool last) : last_(last) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override { return value_.ok() ? value_ : nullValue(); }
  size_t memory() const override { return value_.valueBytes().size(); }

 private:
  bool last_;
  bool seen_ = false;
  bson::Value value_;
};

class PushAccumulator final : public Accumulator {
 public:
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return bytes_; }
  bool remove(const bson::Element& value) override;

 private:
  std::deque<bson::Value> items_;
  size_t bytes_ = 0;
};

/// Bytes that a held value takes beside its own: the object, its place in a tree, and their allocations.
inline constexpr size_t kBytesPerItem = sizeof(bson::Value) + 64;

/// The order of values, or with `reverse` its reverse.
struct ValueLess {
  using is_transparent = void;
  const bson::Collator* collator;
  bool reverse = false;
  static bson::Element element(const bson::Value& v) { return v.element(); }
  static bson::Element element(const bson::Element& e) { return e; }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    const int order = bson::compareValues(element(a), element(b), collator);
    return reverse ? order > 0 : order < 0;
  }
};

class AddToSetAccumulator final : public Accumulator {
 public:
  explicit AddToSetAccumulator(const bson::Collator* collator) : items_(ValueLess{collator}) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return bytes_; }

 private:
  std::set<bson::Value, ValueLess> items_;
  size_t bytes_ = 0;
};

/// $concatArrays: the elements of all arrays, in the order of the documents.
class ConcatenationAccumulator final : public Accumulator {
 public:
  explicit ConcatenationAccumulator(QueryWork* work) : work_(work) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override { return items_.result(); }
  size_t memory() const override { return items_.memory(); }
  bool remove(const bson::Element& value) override;

 private:
  QueryWork* work_;
  PushAccumulator items_;
};

/// $setUnion: the distinct elements of all arrays.
class UnionAccumulator final : public Accumulator {
 public:
  UnionAccumulator(const bson::Collator* collator, QueryWork* work) : work_(work), items_(collator) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override { return items_.result(); }
  size_t memory() const override { return items_.memory(); }

 private:
  QueryWork* work_;
  AddToSetAccumulator items_;
};

/// $covariancePop and $covarianceSamp: values are arrays of two numbers; other values do not count.
class CovarianceAccumulator final : public Accumulator {
 public:
  explicit CovarianceAccumulator(bool sample) : sample_(sample) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  bool remove(const bson::Element& value) override;

 private:
  Status adjust(const bson::Value& x, const bson::Element& y, bool negative);
  bool sample_;
  int64_t count_ = 0;  ///< pairs of finite numbers
  Sum x_, y_;
  Sum infinite_;  ///< the numbers of the pairs that are not finite
  int64_t infinitePairs_ = 0;
  bson::Value products_ = real(0);  ///< the sum of the products of the distances from the means
};

class DeviationAccumulator final : public Accumulator {
 public:
  explicit DeviationAccumulator(bool sample) : sample_(sample) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;

 private:
  bool sample_;
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

class MergeObjectsAccumulator final : public Accumulator {
 public:
  explicit MergeObjectsAccumulator(QueryWork* work) : work_(work) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return merged_.bytes(); }

 private:
  QueryWork* work_;
  MergedFields merged_;
};

/// $firstN and $lastN.
class OutermostAccumulator final : public Accumulator {
 public:
  OutermostAccumulator(bool last, size_t n) : last_(last), n_(n) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return bytes_; }

 private:
  bool last_;
  size_t n_;
  std::deque<bson::Value> items_;
  size_t bytes_ = 0;
};

/// $minN and $maxN: null and missing do not count.
class ExtremesAccumulator final : public Accumulator {
 public:
  ExtremesAccumulator(bool largest, size_t n, const bson::Collator* collator)
      : n_(n), items_(ValueLess{collator, largest}) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return bytes_; }

 private:
  size_t n_;
  std::multiset<bson::Value, ValueLess> items_;
  size_t bytes_ = 0;
};

}  // namespace troupe::query
