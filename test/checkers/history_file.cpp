#include "test/checkers/history_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "messaging/bson/json.hpp"

namespace troupe::checkers {

namespace {

struct Recorded {
  int process = 0;
  TimePoint begin, end;
  Outcome outcome = Outcome::kUnknown;
  std::variant<ListStep, RegisterOperation> operation;
};

Status unreadable(std::string why) { return {ErrorCode::kFailedToParse, std::move(why)}; }

TimePoint micros(const bson::Element& field) { return TimePoint(std::chrono::microseconds(field.toInt64())); }

StatusWith<Outcome> outcomeOf(const bson::Element& field) {
  const std::string_view name = field.toStringOr("");
  if (name == "ok") return Outcome::kOk;
  if (name == "failed") return Outcome::kFailed;
  if (name == "unknown") return Outcome::kUnknown;
  return unreadable("no outcome: ok, failed or unknown");
}

StatusWith<std::vector<int64_t>> numbersOf(const bson::Element& field) {
  if (!field.is(bson::Type::kArray)) return unreadable("a read has an array of contents");
  std::vector<int64_t> numbers;
  for (const bson::Element& element : field.asArray()) {
    if (!element.isNumber()) return unreadable("lists hold numbers");
    numbers.push_back(element.toInt64());
  }
  return numbers;
}

/// `kind`: the field that says what was done, with its key.
StatusWith<std::variant<ListStep, RegisterOperation>> operationOf(std::string_view kind, bson::View what,
                                                                  Outcome outcome) {
  using Operation = std::variant<ListStep, RegisterOperation>;
  if (!what["key"].is(bson::Type::kString)) return unreadable("an operation has a key");
  const std::string key(what["key"].asString());
  const bson::Element value = what["value"];
  if (kind == "read") {
    if (outcome != Outcome::kOk) return Operation(ListStep::read(key));
    TROUPE_ASSIGN(auto contents, numbersOf(what["contents"]));
    return Operation(ListStep::read(key, std::move(contents)));
  }
  if (kind == "get") {
    RegisterOperation get{.kind = RegisterOperation::Kind::kRead, .key = key};
    if (outcome == Outcome::kOk && !value.isNumber() && !value.is(bson::Type::kNull))
      return unreadable("a get has a value, or null");
    if (value.isNumber()) get.read = value.toInt64();
    return Operation(std::move(get));
  }
  if (!value.isNumber()) return unreadable("what is written is a number");
  if (kind == "append") return Operation(ListStep::append(key, value.toInt64()));
  return Operation(RegisterOperation{.kind = RegisterOperation::Kind::kWrite, .key = key, .value = value.toInt64()});
}

StatusWith<Recorded> recordedOf(bson::View line) {
  Recorded recorded;
  recorded.process = static_cast<int>(line["process"].toInt64());
  TROUPE_ASSIGN(recorded.outcome, outcomeOf(line["outcome"]));
  if (!line["process"].isNumber() || !line["begin"].isNumber()) return unreadable("no process, or no begin");
  recorded.begin = micros(line["begin"]);
  if (recorded.outcome != Outcome::kUnknown) {
    if (!line["end"].isNumber()) return unreadable("no end, and its outcome is known");
    recorded.end = micros(line["end"]);
    if (recorded.end < recorded.begin) return unreadable("it ends before it begins");
  }
  for (const char* kind : {"append", "read", "set", "get"}) {
    if (!line[kind].is(bson::Type::kDocument)) continue;
    TROUPE_ASSIGN(recorded.operation, operationOf(kind, line[kind].asDocument(), recorded.outcome));
    return recorded;
  }
  return unreadable("no operation: append, read, set or get");
}

template <class Operation>
void add(History<Operation>& history, const Recorded& recorded, Operation operation) {
  const auto id = history.begin(recorded.process, std::move(operation), recorded.begin);
  history.end(id, recorded.outcome, recorded.end);
}

}  // namespace

StatusWith<RecordedHistory> readHistory(std::string_view text) {
  std::vector<Recorded> all;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    const auto where = [&](const Status& why) { return why.withContext(fmt::format("line {}", number)); };
    const auto document = bson::fromJson(line);
    if (!document.isOK()) return where(document.status());
    auto recorded = recordedOf(document->view());
    if (!recorded.isOK()) return where(recorded.status());
    all.push_back(std::move(*recorded));
  }
  std::stable_sort(all.begin(), all.end(), [](const Recorded& a, const Recorded& b) { return a.begin < b.begin; });
  RecordedHistory history;
  for (const Recorded& recorded : all) {
    if (const auto* step = std::get_if<ListStep>(&recorded.operation))
      add(history.lists, recorded, ListTransaction{{*step}});
    else add(history.registers, recorded, std::get<RegisterOperation>(recorded.operation));
  }
  return history;
}

Verdict checkRecorded(const RecordedHistory& history, Isolation isolation) {
  if (Verdict lists = checkListAppend(history.lists, isolation); !lists.holds()) return lists;
  return checkLinearizable(history.registers);
}

}  // namespace troupe::checkers
