#include "supervisors/cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace troupe::supervisors {
namespace {

constexpr size_t kBarWidth = 30;
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(5);

std::string bar(double share) {
  const auto filled = static_cast<size_t>(share * static_cast<double>(kBarWidth));
  std::string text;
  for (size_t i = 0; i < kBarWidth; ++i) text += i < filled ? "█" : "░";
  return text;
}

}  // namespace

std::string progressLine(const ProgressState& state, size_t width) {
  const double rate = state.seconds > 0 ? static_cast<double>(state.items) / state.seconds : 0;
  std::string line = "  " + state.what;
  if (state.total > 0) {
    const double share = std::clamp(static_cast<double>(state.done) / static_cast<double>(state.total), 0.0, 1.0);
    line += fmt::format("  {}  {:3.0f}%", bar(share), share * 100);
    line += fmt::format("  {}  {}/s", formatCount(state.items), formatCount(static_cast<int64_t>(rate)));
    if (share > 0 && share < 1 && state.seconds > 0.5)
      line += fmt::format("  {} left", formatDuration(state.seconds * (1 - share) / share));
  } else {
    line += fmt::format("  {}  {}/s", formatCount(state.items), formatCount(static_cast<int64_t>(rate)));
  }
  return fitTo(line, width);
}

Progress::Progress(std::string what, int64_t total, bool quiet) : quiet_(quiet), terminal_(isTerminal(STDERR_FILENO)) {
  state_.what = std::move(what);
  state_.total = total;
}

Progress::~Progress() { clear(); }

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

void Progress::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void Progress::update(int64_t items, int64_t done) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (terminal_ ? now - shown_ < kRedraw : now - shown_ < kPlainLine) return;
  shown_ = now;
  state_.items = items;
  state_.done = done;
  state_.seconds = seconds();
  const std::string line = progressLine(state_, terminal_ ? terminalSize().columns - 1 : 120);
  if (terminal_) std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  else std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  drawn_ = terminal_;
}

void Progress::finish(int64_t items) {
  if (quiet_) return;
  clear();
  const double took = seconds();
  const auto rate = static_cast<int64_t>(took > 0 ? static_cast<double>(items) / took : 0);
  std::fprintf(
      stderr, "%s\n",
      fmt::format("  {} {} in {} ({}/s)", formatCount(items), state_.what, formatDuration(took), formatCount(rate))
          .c_str());
}

}  // namespace troupe::supervisors
