#include "supervisors/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace troupe::supervisors {
namespace {

size_t columnsOf(UChar32 c) {
  if (c < 0x20) return 0;
  const auto category = u_charType(c);
  if (category == U_NON_SPACING_MARK || category == U_ENCLOSING_MARK || category == U_FORMAT_CHAR) return 0;
  const auto width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  // Two regional indicators make one flag of two columns.
  if (c >= 0x1F1E6 && c <= 0x1F1FF) return 1;
  return width == U_EA_FULLWIDTH || width == U_EA_WIDE ? 2 : 1;
}

}  // namespace

bool isTerminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && term && std::strcmp(term, "dumb") != 0 && !std::getenv("NO_COLOR");
}

TerminalSize terminalSize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {size.ws_col, size.ws_row};
}

std::string Paint::wrap(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

size_t displayWidth(std::string_view text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.size();) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), i, text.size(), c);
    columns += columnsOf(c);
  }
  return columns;
}

std::string fitTo(std::string_view text, size_t columns) {
  if (displayWidth(text) <= columns) return std::string(text);
  size_t used = 0, kept = 0;
  for (size_t i = 0; i < text.size() && columns > 0;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), i, text.size(), c);
    used += columnsOf(c);
    if (used > columns - 1) break;
    kept = i;
  }
  return columns == 0 ? std::string() : std::string(text.substr(0, kept)) + "…";
}

std::string formatCount(int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string formatBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1023.95 && unit + 1 < std::size(kUnits)) bytes /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string formatDuration(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} µs", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} days {} h", whole / 86400, whole / 3600 % 24);
}

}  // namespace troupe::supervisors
