#include "test/checkers/history.hpp"

#include <fmt/format.h>

namespace troupe::checkers {

std::string spanText(TimePoint begin, TimePoint end, int process) {
  const auto seconds = [](TimePoint at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); };
  const std::string until = end == TimePoint::max() ? "no answer" : fmt::format("{:.6f}", seconds(end));
  return fmt::format("{:.6f} ... {}  p{}", seconds(begin), until, process);
}

}  // namespace troupe::checkers
