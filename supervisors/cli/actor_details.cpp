#include "supervisors/cli/actor_details.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "supervisors/cli/actor_rows.hpp"
#include "supervisors/cli/table.hpp"

namespace troupe::supervisors {

namespace {

std::string textOf(bson::View document, std::string_view field) { return std::string(document[field].toStringOr()); }

std::string clockTime(const bson::Element& date) {
  if (!date.is(bson::Type::kDate)) return "";
  const int64_t millis = date.asDate().millis;
  const auto seconds = static_cast<std::time_t>(millis / 1000);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", fmt::gmtime(seconds), millis % 1000);
}

std::string renderFields(bson::View fields, int64_t nowMillis, const Paint& paint, std::string_view indent = "") {
  std::string out;
  for (const auto& field : fields) {
    const std::string value = describeField(field, nowMillis);
    if (value.empty()) continue;
    out += fmt::format("{}{}{}\n", indent, paint.dim(fmt::format("{:<18}", field.name())), value);
  }
  return out;
}

std::string renderMachine(bson::View machine, std::string_view current, size_t width, const Paint& paint) {
  std::string out = "\n" + paint.bold("machine " + textOf(machine, "name")) + "\n";
  for (const auto& phase : machine["phases"].asArray()) {
    const bson::View row = phase.asDocument();
    const bool isCurrent = textOf(row, "name") == current;
    const std::string name = fmt::format("{:<20}", textOf(row, "name"));
    out += fmt::format("{}{}{}\n", isCurrent ? "> " : "  ", isCurrent ? paint.green(name) : name,
                       paint.dim(fitTo(textOf(row, "meaning"), width > 24 ? width - 24 : 10)));
  }
  return out;
}

std::string renderMessages(std::string_view title, const bson::Element& messages, int64_t nowMillis, size_t width,
                           const Paint& paint) {
  if (!messages.is(bson::Type::kArray) || messages.asArray().empty()) return "";
  Table table({{"message", false, 12}, {"peer", false, 12}, {"when", true}});
  for (const auto& message : messages.asArray()) {
    const bson::View row = message.asDocument();
    table.add(
        {textOf(row, "message"), textOf(row, "peerNode") + textOf(row, "peer"), describeField(row["at"], nowMillis)});
  }
  return "\n" + paint.bold(title) + "\n" + table.render(width, paint);
}

std::string phases(bson::View record) {
  const std::string from = textOf(record, "from"), to = textOf(record, "to");
  if (from == to) return from;
  if (from.empty()) return "→ " + to;
  return from + " → " + (to.empty() ? "end" : to);
}

}  // namespace

std::string renderActorDetails(bson::View details, int64_t nowMillis, size_t width, const Paint& paint) {
  const bson::View row = details["row"].asDocument();
  std::string out = renderFields(row, nowMillis, paint);
  if (const auto state = details["state"]; state.is(bson::Type::kDocument) && !state.asDocument().empty())
    out += "\n" + paint.bold("state") + "\n" + renderFields(state.asDocument(), nowMillis, paint, "  ");
  if (const auto machine = details["machine"]; machine.is(bson::Type::kDocument))
    out += renderMachine(machine.asDocument(), textOf(row, "phase"), width, paint);
  out += renderMessages("received, newest first", details["received"], nowMillis, width, paint);
  out += renderMessages("sent, newest first", details["sent"], nowMillis, width, paint);
  return out;
}

std::string renderTransitions(const std::vector<bson::Document>& records, bool withPath, const Paint& paint) {
  std::string out;
  for (auto at = records.rbegin(); at != records.rend(); ++at) {
    const bson::View record = *at;
    if (const auto why = textOf(record, "unreachable"); !why.empty()) {
      out += textOf(record, "node") + "  " + paint.red("cannot be asked: " + why) + "\n";
      continue;
    }
    out += paint.dim(clockTime(record["at"])) + "  ";
    if (withPath) out += textOf(record, "node") + textOf(record, "path") + "  ";
    const bool moves = textOf(record, "from") != textOf(record, "to");
    out += textOf(record, "event") + "  " + (moves ? paint.bold(phases(record)) : paint.dim(phases(record)));
    if (const int64_t revision = record["revision"].toInt64(); revision > 0)
      out += paint.dim(fmt::format("  document {}", revision));
    if (const auto cause = textOf(record, "cause"); !cause.empty()) out += paint.dim("  from " + cause);
    if (const auto outcome = textOf(record, "outcome"); !outcome.empty()) out += "  " + paint.red(outcome);
    out += "\n";
    if (!record["effects"].is(bson::Type::kArray)) continue;
    for (const auto& effect : record["effects"].asArray())
      out += "    " + paint.dim(std::string(effect.toStringOr())) + "\n";
  }
  return out;
}

}  // namespace troupe::supervisors
