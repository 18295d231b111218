#include "supervisors/cli/csv.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "messaging/bson/json.hpp"

namespace troupe::supervisors {
namespace {

constexpr auto kEndOfInput = std::istream::traits_type::eof();

Status bad(std::string what) { return {ErrorCode::kFailedToParse, std::move(what)}; }

std::optional<bson::Value> inferNumber(std::string_view text) {
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] != '.') return std::nullopt;
  const char* const last = text.data() + text.size();
  int64_t whole = 0;
  if (const auto [end, error] = std::from_chars(text.data(), last, whole); error == std::errc() && end == last) {
    if (text == "-0") return std::nullopt;
    if (whole >= INT32_MIN && whole <= INT32_MAX) return bson::Value(static_cast<int32_t>(whole));
    return bson::Value(whole);
  }
  if (digits.find_first_not_of("0123456789") == std::string_view::npos) return std::nullopt;  // too long for a number
  double real = 0;
  if (const auto [end, error] = std::from_chars(text.data(), last, real);
      error == std::errc() && end == last && std::isfinite(real))
    return bson::Value(real);
  return std::nullopt;
}

/// YYYY-MM-DD, perhaps with Thh:mm:ss[.sss] and Z or an offset.
std::optional<bson::Value> inferDate(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, used = 0;
  double second = 0;
  const std::string copy(text);
  if (text.size() < 10 || text.size() > 35 ||
      std::sscanf(copy.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used != 10)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::sys_days(date).time_since_epoch()).count();
  if (text.size() == 10) return bson::Value(bson::Date{millis});
  if (text[10] != 'T' && text[10] != ' ') return std::nullopt;
  const char* rest = copy.c_str() + 11;
  if (std::sscanf(rest, "%2d:%2d:%lf%n", &hour, &minute, &second, &used) != 3 || hour > 23 || minute > 59 ||
      second < 0 || second >= 60)
    return std::nullopt;
  rest += used;
  int offsetHours = 0, offsetMinutes = 0;
  char sign = '+';
  if (std::string_view(rest) != "Z" &&
      (std::sscanf(rest, "%c%2d:%2d%n", &sign, &offsetHours, &offsetMinutes, &used) != 3 || rest[used] != '\0' ||
       (sign != '+' && sign != '-')))
    return std::nullopt;
  const int offset = (offsetHours * 60 + offsetMinutes) * (sign == '-' ? -1 : 1);
  millis += (int64_t{hour} * 60 + minute - offset) * 60'000 + std::llround(second * 1000);
  return bson::Value(bson::Date{millis});
}

/// Columns are appended in order; those that share a first part must be neighbours or they become one document here.
struct Node {
  std::string name;
  std::optional<bson::Value> value;
  std::vector<Node> children;
};

Status place(std::vector<Node>& level, std::string_view path, const bson::Value& value) {
  const auto dot = path.find('.');
  const auto name = path.substr(0, dot);
  Node* node = nullptr;
  for (auto& existing : level)
    if (existing.name == name) node = &existing;
  const bool leaf = dot == std::string_view::npos;
  if (node && (leaf || node->value)) return bad("the columns contradict each other at '" + std::string(name) + "'");
  if (!node) node = &level.emplace_back(Node{std::string(name), {}, {}});
  if (!leaf) return place(node->children, path.substr(dot + 1), value);
  node->value = value;
  return {};
}

void write(bson::Builder& b, const std::vector<Node>& level) {
  for (const auto& node : level) {
    if (node.value) {
      b.append(node.name, *node.value);
      continue;
    }
    b.openDocument(node.name);
    write(b, node.children);
    b.close();
  }
}

}  // namespace

StatusWith<std::vector<std::string>> CsvReader::next() {
  if (!begun_ && in_.peek() == 0xEF) in_.ignore(3);
  begun_ = true;
  while (in_.peek() == '\n' || in_.peek() == '\r') line_ += in_.get() == '\n';
  recordLine_ = line_;
  std::vector<std::string> fields;
  if (in_.peek() == kEndOfInput) return fields;
  bool quoted = false, closed = false;
  fields.emplace_back();
  for (int c = in_.get();; c = in_.get()) {
    std::string& field = fields.back();
    if (c == kEndOfInput) {
      if (quoted) return bad("the quote that opens in line " + std::to_string(recordLine_) + " never closes");
      return fields;
    }
    if (c == '\n') ++line_;
    if (quoted) {
      if (c != '"') field.push_back(static_cast<char>(c));
      else if (in_.peek() == '"') field.push_back(static_cast<char>(in_.get()));
      else quoted = false, closed = true;
    } else if (c == separator_) {
      fields.emplace_back();
      closed = false;
    } else if (c == '\n') {
      return fields;
    } else if (c == '\r' && in_.peek() == '\n') {
      continue;
    } else if (closed) {
      return bad("text after a closing quote");
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else {
      field.push_back(static_cast<char>(c));
    }
  }
}

bson::Value inferValue(std::string_view text) {
  if (text.empty()) return {};
  if (text == "true" || text == "false") return bson::Value(text == "true");
  if (auto number = inferNumber(text)) return *std::move(number);
  if (auto date = inferDate(text)) return *std::move(date);
  return bson::Value(text);
}

StatusWith<bson::Document> csvDocument(const std::vector<std::string>& columns, const std::vector<std::string>& fields,
                                       bool inferTypes) {
  if (fields.size() > columns.size())
    return bad(fmt::format("{} fields, but there are {} columns", fields.size(), columns.size()));
  std::vector<Node> tree;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].empty()) continue;
    TROUPE_TRY(place(tree, columns[i], inferTypes ? inferValue(fields[i]) : bson::Value(fields[i])));
  }
  bson::Builder b;
  write(b, tree);
  return b.finish();
}

std::string csvText(const bson::Element& value) {
  switch (value.type()) {
    case bson::Type::kEnd: return {};
    case bson::Type::kString: return std::string(value.asString());
    case bson::Type::kObjectId: return value.asObjectId().toString();
    case bson::Type::kInt32: return std::to_string(value.asInt32());
    case bson::Type::kInt64: return std::to_string(value.asInt64());
    case bson::Type::kDouble: return fmt::format("{}", value.asDouble());
    case bson::Type::kDate: {
      // {"$date": "2024-01-01T00:00:00Z"} for the years that ISO 8601 is certain about
      const std::string json = bson::toRelaxedJson(value);
      const auto open = json.find(": \"");
      if (open == std::string::npos || json.find("$numberLong") != std::string::npos) return json;
      return json.substr(open + 3, json.rfind('"') - open - 3);
    }
    default: return bson::toRelaxedJson(value);
  }
}

std::string csvQuoted(std::string_view text, char separator) {
  const char special[] = {separator, '"', '\n', '\r', '\0'};
  if (text.find_first_of(special) == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

}  // namespace troupe::supervisors
