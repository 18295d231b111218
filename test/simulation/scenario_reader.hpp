#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "test/simulation/scenario.hpp"

namespace troupe::sim {

/// A mistake in a scenario file, as "FILE:LINE: ...".
class Mistake : public std::runtime_error {
 public:
  Mistake(const std::string& file, const toml::source_region& where, const std::string& what)
      : std::runtime_error(fmt::format("{}:{}: {}", file, where.begin.line, what)) {}
};

/// A table of a scenario file. Each key is asked for by name; `end` complains of those that nobody asked for. All
/// functions throw Mistake.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string name, const std::string& file)
      : table_(table), name_(std::move(name)), file_(file) {}

  bool has(const char* key) { return find(key) != nullptr; }
  std::string text(const char* key);
  double number(const char* key, double least, double most, double otherwise);
  int count(const char* key, int least, int most, int otherwise);
  Span span(const char* key, Span otherwise);
  Duration duration(const char* key, Duration otherwise);
  std::vector<double> numbers(const char* key, double least, double most);
  std::vector<std::string> texts(const char* key);
  /// One of the given names; its place among them. A missing key is the one at `otherwise`; -1: it must be there.
  size_t choice(const char* key, const std::vector<std::string>& names, int otherwise = -1);

  const toml::node* find(const char* key) {
    known_.insert(key);
    return table_.get(key);
  }
  [[noreturn]] void complain(const toml::node& at, const std::string& what) const {
    throw Mistake(file_, at.source(), what);
  }
  [[noreturn]] void complain(const std::string& what) const { complain(table_, what); }
  /// After the last key was asked for.
  void end() const;

 private:
  const toml::table& table_;
  std::string name_;
  const std::string& file_;
  std::set<std::string> known_;
};

}  // namespace troupe::sim
