#include "test/simulation/scenario_reader.hpp"

#include <charconv>
#include <cmath>
#include <optional>

namespace troupe::sim {

namespace {

/// "1.5s", "300ms", "20us", "2m".
std::optional<Duration> durationOf(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0 || value > 1e6) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  double nanos = 0;
  if (unit == "us") nanos = 1e3;
  else if (unit == "ms") nanos = 1e6;
  else if (unit == "s") nanos = 1e9;
  else if (unit == "m") nanos = 6e10;
  else return std::nullopt;
  return Duration(static_cast<Duration::rep>(value * nanos));
}

}  // namespace

std::string TableReader::text(const char* key) {
  const toml::node* node = find(key);
  if (!node) complain(fmt::format("{} needs '{}'", name_, key));
  const auto value = node->value_exact<std::string>();
  if (!value || value->empty()) complain(*node, fmt::format("'{}' must be a text", key));
  return *value;
}

double TableReader::number(const char* key, double least, double most, double otherwise) {
  const toml::node* node = find(key);
  if (!node) return otherwise;
  const auto value = node->value<double>();
  if (!value || !node->is_number() || *value < least || *value > most)
    complain(*node, fmt::format("'{}' must be a number from {} to {}", key, least, most));
  return *value;
}

int TableReader::count(const char* key, int least, int most, int otherwise) {
  const toml::node* node = find(key);
  if (!node) return otherwise;
  const auto value = node->value_exact<int64_t>();
  if (!value || *value < least || *value > most)
    complain(*node, fmt::format("'{}' must be a whole number from {} to {}", key, least, most));
  return static_cast<int>(*value);
}

Span TableReader::span(const char* key, Span otherwise) {
  const toml::node* node = find(key);
  if (!node) return otherwise;
  const std::string value = node->value_exact<std::string>().value_or("");
  const size_t dots = value.find("..");
  const auto least = durationOf(std::string_view(value).substr(0, dots));
  const auto most = dots == std::string::npos ? least : durationOf(std::string_view(value).substr(dots + 2));
  if (!least || !most || *least > *most)
    complain(*node,
             fmt::format("'{}' must be a time such as \"2s\", or a span such as \"300ms..2s\"; units: us ms s m", key));
  return {*least, *most};
}

Duration TableReader::duration(const char* key, Duration otherwise) {
  const Span value = span(key, {otherwise, otherwise});
  if (value.least != value.most) complain(*find(key), fmt::format("'{}' must be one time, such as \"2s\"", key));
  return value.least;
}

std::vector<double> TableReader::numbers(const char* key, double least, double most) {
  const toml::node* node = find(key);
  std::vector<double> found;
  if (!node) return found;
  if (!node->is_array()) complain(*node, fmt::format("'{}' must be a list of numbers", key));
  for (const toml::node& one : *node->as_array()) {
    const auto value = one.value<double>();
    if (!value || !one.is_number() || *value < least || *value > most)
      complain(one, fmt::format("'{}' must hold numbers from {} to {}", key, least, most));
    found.push_back(*value);
  }
  return found;
}

std::vector<std::string> TableReader::texts(const char* key) {
  const toml::node* node = find(key);
  std::vector<std::string> found;
  if (!node) return found;
  if (!node->is_array()) complain(*node, fmt::format("'{}' must be a list of texts", key));
  for (const toml::node& one : *node->as_array()) {
    const auto value = one.value_exact<std::string>();
    if (!value) complain(one, fmt::format("'{}' must hold texts", key));
    found.push_back(*value);
  }
  return found;
}

size_t TableReader::choice(const char* key, const std::vector<std::string>& names, int otherwise) {
  const toml::node* node = find(key);
  if (!node && otherwise >= 0) return static_cast<size_t>(otherwise);
  if (!node) complain(fmt::format("{} needs '{}': one of {}", name_, key, fmt::join(names, ", ")));
  const std::string value = node->value_exact<std::string>().value_or("");
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == value) return i;
  complain(*node, fmt::format("'{}' must be one of {}", key, fmt::join(names, ", ")));
}

void TableReader::end() const {
  for (const auto& [key, node] : table_)
    if (!known_.contains(std::string(key.str())))
      throw Mistake(file_, key.source(),
                    fmt::format("{} knows no '{}'; allowed: {}", name_, key.str(), fmt::join(known_, ", ")));
}

}  // namespace troupe::sim
