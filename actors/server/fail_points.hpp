#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/environment/fault_site.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

/// The `data` document of an armed fail point, given to the place that fires it.
using FailPointData = bson::Document;

/// Named places where the server fails on purpose, switched by `configureFailPoint` when test commands are enabled.
/// Only names that some place in the server really asks for exist (`known`); all fault sites are among them. Modes:
/// off, alwaysOn, {times: n}, {skip: n}, {activationProbability: p}. Thread-safe; asking for a disarmed point costs one
/// relaxed load.
class FailPoints final : public FaultPlan {
 public:
  /// `random` gives numbers in [0, 1) for activationProbability.
  explicit FailPoints(std::function<double()> random);

  static bool known(std::string_view name);
  /// Arms or disarms by the command's `mode` and `data`; returns how often the point was entered so far.
  /// Errors: CommandFailed-like BadValue for an unknown name or mode.
  StatusWith<int64_t> configure(std::string_view name, const bson::Element& mode, bson::View data);
  /// The data of the point when it is armed and fires now (counting `times` and `skip` down).
  /// `applies` narrows it: a point whose data does not apply neither fires nor counts.
  std::optional<FailPointData> fires(std::string_view name, const std::function<bool(bson::View)>& applies = {});
  bool fires(const FaultSite& site) noexcept override { return fires(site.name()).has_value(); }
  /// {name: {mode, timesEntered}} of every point, for getParameter and waitForFailPoint.
  bson::Document describe() const;

 private:
  enum class Mode { kOff, kAlwaysOn, kTimes, kSkip, kProbability };
  struct Point {
    std::string name;
    Mode mode = Mode::kOff;
    int64_t count = 0;
    double probability = 0;
    bson::Document data;
    int64_t entered = 0;
  };
  Point* find(std::string_view name);
  static Status parseMode(const bson::Element& mode, Point& point);
  static std::string_view modeName(Mode mode);

  mutable std::mutex mutex_;
  std::atomic<int> armed_{0};
  std::vector<Point> points_;
  std::function<double()> random_;
};

}  // namespace troupe::server
