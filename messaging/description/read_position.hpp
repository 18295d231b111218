#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messaging/description/value_type.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::machines {

/// Position and first failure of a reader of described values: readers go on calling `serialize` after one, and leave
/// everything as it is.
class ReadPosition {
 public:
  /// `subject`: what errors call the whole. Names must outlive the reader.
  explicit ReadPosition(std::string_view subject) : subject_(subject) {}

  bool failed() const { return !status_.isOK(); }
  Status takeStatus() { return std::move(status_); }
  void fail(ErrorCode code, const std::string& what) {
    if (!failed()) failAnew(code, what);
  }
  /// In place of the failure that there is.
  void failAnew(ErrorCode code, const std::string& what);
  void newer(const StructType& type, uint64_t version) {
    failAnew(ErrorCode::kUnsupportedFormat, newerText(type, version));
  }
  /// Errors inside of a variant at the root speak of the type it holds.
  void setSubject(std::string_view subject) {
    if (path_.empty()) subject_ = subject;
  }

  /// Reads what is inside of the field or element of that name.
  template <class Read>
  void within(std::string_view name, const Read& read) {
    path_.push_back(name);
    if (path_.size() > kMaxValueDepth + 2) fail(ErrorCode::kOverflow, "nested too deep");  // a leaf, a type's name
    else read();
    path_.pop_back();
  }

 private:
  static std::string newerText(const StructType& type, uint64_t version);
  Status status_;
  std::string_view subject_;
  std::vector<std::string_view> path_;
};

}  // namespace troupe::machines
