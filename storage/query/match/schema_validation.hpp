#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/match/regex.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// One check of a value against a schema, as far as its operation is concerned: values and schemas may both be large,
/// so that the work is their product. Once it does not go on, every function returns at once, and the answer means
/// nothing.
struct Validation {
  QueryWork* work = nullptr;  ///< null: nothing is counted
  Status error;               ///< that of an interrupt, or ExceededMemoryLimit

  /// False once `error` is set.
  bool goesOn(int64_t steps = 1) {
    if (!error.isOK()) return false;
    return !work || goesOnAfter(work->step(steps));
  }
  bool goesOnAfter(Status status) {
    if (error.isOK()) error = std::move(status);
    return error.isOK();
  }
};

/// The steps for work on so many bytes that is slower than a copy: looking up fields, sorting them.
constexpr int64_t stepsForFields(size_t bytes) { return static_cast<int64_t>(1 + (bytes >> 7)); }

/// Is the value equal to one of `values`, whatever the order of fields? `values` have theirs sorted
/// (withSortedFields).
bool isOneOf(const bson::Element& value, bson::View values, Validation& validation);
/// The same of a whole document, which is no field of anything.
bool isOneOf(bson::View document, bson::View values, Validation& validation);

/// Has the object a field of that name?
inline bool hasField(bson::View object, std::string_view name, Validation& validation) {
  return validation.goesOn(stepsForFields(object.size())) && object.has(name);
}

/// Does the text match?
inline bool matches(const CompiledRegex& regex, std::string_view text, Validation& validation) {
  if (!validation.error.isOK()) return false;
  const auto matched = regex.matches(text, validation.work);
  return validation.goesOnAfter(matched.status()) && *matched;
}

/// Are all items different, whatever the order of fields?
bool allDiffer(bson::View array, Validation& validation);

}  // namespace troupe::query
