#include "actors/server/fail_points.hpp"

#include <algorithm>

namespace troupe::server {

namespace {

constexpr std::string_view kKnown[] = {
    "failCommand",
    "failGetMoreAfterCursorCheckout",
    "failIndexBuild",
    "hangAfterEngineFailure",
    "hangIndexBuild",
    "hangOutBeforeReplacing",
    "hangWhileClosing",
    "hangWhileStopping",
    "maxTimeAlwaysTimeOut",
    "maxTimeNeverTimeOut",
    "onPrimaryTransactionalWrite",
};

}  // namespace

FailPoints::FailPoints(std::function<double()> random) : random_(std::move(random)) {
  for (const auto name : kKnown) points_.push_back(Point{std::string(name), Mode::kOff, 0, 0, {}, 0});
  for (const FaultSite* site : FaultSite::all())
    points_.push_back(Point{std::string(site->name()), Mode::kOff, 0, 0, {}, 0});
}

bool FailPoints::known(std::string_view name) {
  return std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown) || FaultSite::find(name);
}

FailPoints::Point* FailPoints::find(std::string_view name) {
  const auto it = std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.name == name; });
  return it == points_.end() ? nullptr : &*it;
}

std::string_view FailPoints::modeName(Mode mode) {
  constexpr std::string_view names[] = {"off", "alwaysOn", "times", "skip", "activationProbability"};
  return names[static_cast<size_t>(mode)];
}

Status FailPoints::parseMode(const bson::Element& mode, Point& point) {
  if (mode.is(bson::Type::kString)) {
    if (mode.asString() == "off") return point.mode = Mode::kOff, Status::OK();
    if (mode.asString() == "alwaysOn") return point.mode = Mode::kAlwaysOn, Status::OK();
    return {ErrorCode::kBadValue, "unknown mode '" + std::string(mode.asString()) +
                                      "': use off, alwaysOn, {times: n}, {skip: n} or {activationProbability: p}"};
  }
  if (!mode.is(bson::Type::kDocument)) return {ErrorCode::kTypeMismatch, "'mode' must be a string or an object"};
  const bson::Element only = mode.asDocument().first();
  if (!only.isNumber())
    return {ErrorCode::kBadValue, "'mode' needs a number: {times: n}, {skip: n} or {activationProbability: p}"};
  if (only.name() == "activationProbability") {
    point.probability = only.toDouble();
    if (point.probability < 0 || point.probability > 1)
      return {ErrorCode::kBadValue, "activationProbability must be between 0 and 1"};
    point.mode = Mode::kProbability;
    return Status::OK();
  }
  if (only.name() != "times" && only.name() != "skip")
    return {ErrorCode::kBadValue, "unknown mode field '" + std::string(only.name()) + "'"};
  point.count = only.toInt64();
  if (point.count < 0) return {ErrorCode::kBadValue, "'" + std::string(only.name()) + "' must not be negative"};
  point.mode = only.name() == "times" ? Mode::kTimes : Mode::kSkip;
  return Status::OK();
}

StatusWith<int64_t> FailPoints::configure(std::string_view name, const bson::Element& mode, bson::View data) {
  const std::lock_guard lock(mutex_);
  Point* point = find(name);
  if (!point)
    return Status(ErrorCode::kCommandFailed,
                  std::string(name) + " not found: this server has no fail point of that name");
  Point changed = *point;
  changed.count = 0;
  TROUPE_TRY(parseMode(mode, changed));
  changed.data = bson::Document(data);
  armed_ += (changed.mode != Mode::kOff) - (point->mode != Mode::kOff);
  *point = std::move(changed);
  return point->entered;
}

std::optional<FailPointData> FailPoints::fires(std::string_view name, const std::function<bool(bson::View)>& applies) {
  if (armed_.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  Point* point = find(name);
  if (!point || point->mode == Mode::kOff) return std::nullopt;
  if (applies && !applies(point->data)) return std::nullopt;
  if (point->mode == Mode::kProbability && random_() >= point->probability) return std::nullopt;
  if (point->mode == Mode::kSkip && point->count > 0) return --point->count, std::nullopt;
  if (point->mode == Mode::kTimes) {
    if (point->count <= 0) return std::nullopt;
    if (--point->count == 0) {
      point->mode = Mode::kOff;
      --armed_;
    }
  }
  ++point->entered;
  return point->data;
}

bson::Document FailPoints::describe() const {
  const std::lock_guard lock(mutex_);
  bson::Builder b;
  for (const Point& point : points_) {
    b.append(point.name, bson::doc("mode", modeName(point.mode), "timesEntered", point.entered));
  }
  return b.finish();
}

}  // namespace troupe::server
