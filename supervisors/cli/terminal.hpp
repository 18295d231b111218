#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::supervisors {

/// Whether a file descriptor is a terminal that understands colours and cursor movement (not with TERM=dumb or
/// NO_COLOR).
bool isTerminal(int fd);
/// Columns and lines of the terminal on standard output; 100 x 40 when it is none.
struct TerminalSize {
  size_t columns = 100;
  size_t lines = 40;
};
TerminalSize terminalSize();

/// Wraps text in colours, or leaves it alone.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string red(std::string_view text) const { return wrap("31", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }
  std::string yellow(std::string_view text) const { return wrap("33", text); }
  std::string blue(std::string_view text) const { return wrap("36", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const;
  bool on_;
};

/// Columns that UTF-8 text takes: wide characters two, combining ones none.
size_t displayWidth(std::string_view text);
/// The text cut to so many columns, the last of them an ellipsis when something was cut.
std::string fitTo(std::string_view text, size_t columns);

std::string formatCount(int64_t n);          ///< 1234567: "1,234,567"
std::string formatBytes(double bytes);       ///< 1536: "1.5 KiB"
std::string formatDuration(double seconds);  ///< "850 µs", "12.3 ms", "4.2 s", "3 min 20 s", "5 h 12 min"

}  // namespace troupe::supervisors
