#include "storage/query/pipeline/preferred_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "storage/query/expression/values.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

namespace {

constexpr int kR5[] = {10, 16, 25, 40, 63};
constexpr int kR10[] = {100, 125, 160, 200, 250, 315, 400, 500, 630, 800};
constexpr int kR20[] = {100, 112, 125, 140, 160, 180, 200, 224, 250, 280,
                        315, 355, 400, 450, 500, 560, 630, 710, 800, 900};
constexpr int kR40[] = {100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212,
                        224, 236, 250, 265, 280, 300, 315, 335, 355, 375, 400, 425, 450, 475,
                        500, 530, 560, 600, 630, 670, 710, 750, 800, 850, 900, 950};
constexpr int kR80[] = {100, 103, 106, 109, 112, 115, 118, 122, 125, 128, 132, 136, 140, 145, 150, 155,
                        160, 165, 170, 175, 180, 185, 190, 195, 200, 206, 212, 218, 224, 230, 236, 243,
                        250, 258, 265, 272, 280, 290, 300, 307, 315, 325, 335, 345, 355, 365, 375, 387,
                        400, 412, 425, 437, 450, 462, 475, 487, 500, 515, 530, 545, 560, 580, 600, 615,
                        630, 650, 670, 690, 710, 730, 750, 775, 800, 825, 850, 875, 900, 925, 950, 975};
constexpr int k125[] = {10, 20, 50};
constexpr int kE6[] = {10, 15, 22, 33, 47, 68};
constexpr int kE12[] = {10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82};
constexpr int kE24[] = {10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91};

struct Series {
  std::string_view name;
  std::span<const int> digits;
};
constexpr Series kSeries[] = {{"R5", kR5},     {"R10", kR10}, {"R20", kR20}, {"R40", kR40}, {"R80", kR80},
                              {"1-2-5", k125}, {"E6", kE6},   {"E12", kE12}, {"E24", kE24}};

/// E48 and finer are three digits of a geometric series; the standard has one exception, in E192.
std::vector<int> fineSeries(int steps) {
  std::vector<int> digits;
  for (int i = 0; i < steps; ++i) {
    const auto number = static_cast<int>(std::lround(100 * std::pow(10.0, static_cast<double>(i) / steps)));
    digits.push_back(number == 919 ? 920 : number);
  }
  return digits;
}

/// Divides for negative exponents: powers of ten below one are not exact.
double scaled(int digits, int exponent) {
  return exponent >= 0 ? digits * std::pow(10.0, exponent) : digits / std::pow(10.0, -exponent);
}

double powerOfTwo(double value, bool above) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // value = fraction * 2^exponent, fraction in [0.5, 1)
  if (above) return std::ldexp(1.0, exponent);
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 2 : exponent - 1);
}

}  // namespace

StatusWith<PreferredNumbers> PreferredNumbers::named(std::string_view name) {
  PreferredNumbers numbers;
  const auto* found = std::ranges::find(kSeries, name, &Series::name);
  if (found != std::end(kSeries)) numbers.digits_.assign(found->digits.begin(), found->digits.end());
  else if (name == "E48") numbers.digits_ = fineSeries(48);
  else if (name == "E96") numbers.digits_ = fineSeries(96);
  else if (name == "E192") numbers.digits_ = fineSeries(192);
  else if (name != "POWERSOF2")
    return Status(ErrorCode(40257), "Unknown rounding granularity '" + std::string(name) + "'");
  if (!numbers.digits_.empty()) numbers.firstDigits_ = numbers.digits_.front();
  return numbers;
}

double PreferredNumbers::inDecades(double value, bool above) const {
  const int scale = firstDigits_ == 100 ? 2 : 1;
  const int decade = static_cast<int>(std::floor(std::log10(value)));
  double best = above ? HUGE_VAL : 0;
  // The logarithm is not exact, and the neighbour may lie in the next decade.
  for (int exponent = decade - 1 - scale; exponent <= decade + 1 - scale; ++exponent) {
    for (const int digits : digits_) {
      const double number = scaled(digits, exponent);
      if (above && number > value) best = std::min(best, number);
      if (!above && number < value) best = std::max(best, number);
    }
  }
  return best;
}

Value PreferredNumbers::neighbour(const Element& value, bool above) const {
  const double number = value.toDouble();
  if (number == 0 || std::isinf(number)) return Value(value);
  const double found = digits_.empty() ? powerOfTwo(number, above) : inDecades(number, above);
  if (value.is(Type::kDecimal128)) return decimal(toDecimal(real(found).element()));
  const bool isInteger = value.is(Type::kInt32) || value.is(Type::kInt64);
  // Powers of two of integers stay integers, as long as they are.
  if (digits_.empty() && isInteger && found >= 1 && found < 0x1p63) return integer(static_cast<int64_t>(found));
  return real(found);
}

Value PreferredNumbers::above(const Element& value) const { return neighbour(value, true); }
Value PreferredNumbers::below(const Element& value) const { return neighbour(value, false); }

}  // namespace troupe::query
