#include "messaging/errors/status.hpp"

#include <algorithm>
#include <iterator>

#include "messaging/bson/document.hpp"

namespace troupe {

namespace {

struct ErrorRow {
  int number;
  const char* name;
  const char* meaning;
};

constexpr ErrorRow kErrors[] = {
#include "messaging/errors/error_table.inc"
};

const std::string kNoReason;

constexpr size_t kReasonBeginning = 2048, kReasonEnd = 1024;

/// The reason without its middle, if it is long: values in it may have megabytes, and it goes to logs and replies.
std::string bounded(std::string reason) {
  constexpr size_t kMost = kReasonBeginning + kReasonEnd + 64;
  if (reason.size() <= kMost) return reason;
  const auto isInside = [&](size_t at) { return (static_cast<unsigned char>(reason[at]) & 0xC0) == 0x80; };
  size_t from = kReasonBeginning, to = reason.size() - kReasonEnd;
  while (from > kReasonBeginning - 4 && isInside(from)) --from;
  while (to < reason.size() - kReasonEnd + 4 && isInside(to)) ++to;
  return reason.substr(0, from) + "...(" + std::to_string(to - from) + " bytes left out)..." + reason.substr(to);
}

}  // namespace

std::string errorName(ErrorCode code) {
  const int number = static_cast<int>(code);
  const auto* row = std::lower_bound(std::begin(kErrors), std::end(kErrors), number,
                                     [](const ErrorRow& r, int n) { return r.number < n; });
  if (row != std::end(kErrors) && row->number == number) return row->name;
  return "Location" + std::to_string(number);
}

Status::Status(ErrorCode code, std::string reason)
    : info_(std::make_shared<const Info>(Info{code, bounded(std::move(reason)), nullptr})) {}

Status::Status(ErrorCode code, std::string reason, const bson::Document& extra)
    : info_(std::make_shared<const Info>(
          Info{code, bounded(std::move(reason)), std::make_shared<const bson::Document>(extra)})) {}

const std::string& Status::reason() const { return info_ ? info_->reason : kNoReason; }

Status Status::withContext(std::string_view context) const {
  if (isOK()) return *this;
  Status result;
  result.info_ = std::make_shared<const Info>(
      Info{info_->code, bounded(std::string(context) + ": " + info_->reason), info_->extra});
  return result;
}

std::string Status::toString() const {
  if (isOK()) return "OK";
  return errorName(code()) + ": " + reason();
}

}  // namespace troupe
