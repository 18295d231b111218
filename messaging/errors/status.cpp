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

}  // namespace

std::string errorName(ErrorCode code) {
  const int number = static_cast<int>(code);
  const auto* row = std::lower_bound(std::begin(kErrors), std::end(kErrors), number,
                                     [](const ErrorRow& r, int n) { return r.number < n; });
  if (row != std::end(kErrors) && row->number == number) return row->name;
  return "Location" + std::to_string(number);
}

Status::Status(ErrorCode code, std::string reason)
    : info_(std::make_shared<const Info>(Info{code, std::move(reason), nullptr})) {}

Status::Status(ErrorCode code, std::string reason, const bson::Document& extra)
    : info_(
          std::make_shared<const Info>(Info{code, std::move(reason), std::make_shared<const bson::Document>(extra)})) {}

const std::string& Status::reason() const { return info_ ? info_->reason : kNoReason; }

Status Status::withContext(std::string_view context) const {
  if (isOK()) return *this;
  Status result;
  result.info_ =
      std::make_shared<const Info>(Info{info_->code, std::string(context) + ": " + info_->reason, info_->extra});
  return result;
}

std::string Status::toString() const {
  if (isOK()) return "OK";
  return errorName(code()) + ": " + reason();
}

}  // namespace troupe
