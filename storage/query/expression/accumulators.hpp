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

class AddToSetAccumulator final : public Accumulator {
 public:
  explicit AddToSetAccumulator(const bson::Collator* collator) : items_(Less{collator}) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return bytes_; }

 private:
  struct Less {
    using is_transparent = void;
    const bson::Collator* collator;
    static bson::Element element(const bson::Value& v) { return v.element(); }
    static bson::Element element(const bson::Element& e) { return e; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return bson::compareValues(element(a), element(b), collator) < 0;
    }
  };
  std::set<bson::Value, Less> items_;
  size_t bytes_ = 0;
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

/// $firstN, $lastN, $minN, $maxN.
class SeveralAccumulator final : public Accumulator {
 public:
  enum class Kind { kFirst, kLast, kMin, kMax };
  SeveralAccumulator(Kind kind, size_t n, const bson::Collator* collator) : kind_(kind), n_(n), collator_(collator) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return bytes_; }

 private:
  Kind kind_;
  size_t n_;
  const bson::Collator* collator_;
  std::deque<bson::Value> items_;
  size_t bytes_ = 0;
};

}  // namespace troupe::query
