// Judges a history that drivers have recorded (checkers/history_file.hpp says how).
//   check_history strict|serializable|committed FILE
// Exit code: 0 if it is as promised; 1, with what is broken, if it is not; 2 if it cannot be read.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "test/checkers/history_file.hpp"

namespace {

using namespace troupe::checkers;

std::optional<Isolation> isolationOf(std::string_view name) {
  if (name == "strict") return Isolation::kStrictSerializable;
  if (name == "serializable") return Isolation::kSerializable;
  if (name == "committed") return Isolation::kReadCommitted;
  return std::nullopt;
}

int unusable(const std::string& why) {
  fmt::print(stderr, "{}\n", why);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const auto isolation = argc == 3 ? isolationOf(argv[1]) : std::nullopt;
  if (!isolation) return unusable("usage: check_history strict|serializable|committed FILE");
  std::ifstream file(argv[2], std::ios::binary);
  if (!file) return unusable(fmt::format("cannot read {}", argv[2]));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto history = readHistory(text);
  if (!history.isOK()) return unusable(fmt::format("{}: {}", argv[2], history.status().reason()));
  const Verdict verdict = checkRecorded(*history, *isolation);
  const size_t count = history->lists.size() + history->registers.size();
  fmt::print("{} operations: {}\n", count, verdict.holds() ? "as promised" : verdict.broken);
  return verdict.holds() ? 0 : 1;
}
