#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "supervisors/cli/terminal.hpp"

namespace troupe::supervisors {

/// Progress of a piece of work, as one line of text.
struct ProgressState {
  std::string what;   ///< "packages"
  int64_t items = 0;  ///< done so far
  int64_t done = 0;   ///< of `total`, in any unit (bytes read, items)
  int64_t total = 0;  ///< 0: unknown
  double seconds = 0;
};
/// "packages  [=====>    ]  52%   12,345   41,000/s   2.1 s left", cut to `width`; without a bar when the total is
/// unknown.
std::string progressLine(const ProgressState& state, size_t width);

/// Shows progress on standard error while it lasts: one line drawn over and over on a terminal, else a line
/// every few seconds. `finish` leaves one line that says what was done.
class Progress {
 public:
  Progress(std::string what, int64_t total, bool quiet = false);
  void update(int64_t items, int64_t done);
  void finish(int64_t items);
  ~Progress();

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const;
  void clear();

  ProgressState state_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_ = begun_;
};

}  // namespace troupe::supervisors
