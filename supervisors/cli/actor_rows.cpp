#include "supervisors/cli/actor_rows.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include "messaging/bson/json.hpp"
#include "messaging/client/cursor.hpp"
#include "supervisors/cli/command_line.hpp"

namespace troupe::supervisors {
namespace {

using Rows = std::vector<bson::Document>;
using Children = std::map<std::string_view, std::vector<const bson::Document*>>;

std::string_view text(bson::View row, std::string_view field) { return row[field].toStringOr(); }

std::string_view lastPart(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

/// "h:1/storage" of a member's "/node/storage".
std::string pathInSet(std::string_view node, std::string_view path) {
  constexpr std::string_view kRoot = "/node";
  const bool isBelow = path == kRoot || (path.starts_with(kRoot) && path.substr(kRoot.size()).starts_with('/'));
  return std::string(node) + std::string(isBelow ? path.substr(kRoot.size()) : path);
}

bool isLost(std::string_view phase) { return phase == "parked" || phase == "failed" || phase == "unreachable"; }

bool isUnwell(std::string_view phase) { return isLost(phase) || phase == "restarting" || phase == "ended"; }

std::string paintedPhase(std::string_view phase, const Paint& paint) {
  if (isLost(phase)) return paint.red(phase);
  return isUnwell(phase) ? paint.yellow(phase) : paint.green(phase);
}

/// Notable facts of a row, shown after its phase.
std::string remarks(bson::View row) {
  std::string out;
  const auto add = [&](std::string remark) { out += (out.empty() ? "" : ", ") + remark; };
  if (const double rate = row["handledPerSecond"].toDouble(); rate >= 0.05) add(fmt::format("{:.1f}/s", rate));
  if (const auto handled = row["handled"].toInt64(); handled > 0) add(formatCount(handled) + " handled");
  if (const auto waiting = row["mailboxLength"].toInt64(); waiting > 0) add(formatCount(waiting) + " waiting");
  if (const double busy = row["busyShare"].toDouble(); busy >= 0.005) add(fmt::format("{:.0f}% busy", busy * 100));
  return out;
}

std::string warnings(bson::View row) {
  std::string out;
  if (const auto restarts = row["restarts"].toInt64(); restarts > 0)
    out += fmt::format("restarted {} {}", restarts, restarts == 1 ? "time" : "times");
  if (const auto error = text(row, "lastError"); !error.empty()) out += (out.empty() ? "" : ", ") + std::string(error);
  return out;
}

/// Walks the tree first, so that the phases can stand in a column.
class TreePrinter {
 public:
  TreePrinter(Children children, size_t width, const Paint& paint)
      : children_(std::move(children)), width_(width), paint_(paint) {}

  void add(bson::View row, const std::string& before, const std::string& below) {
    const std::string_view path = text(row, "path");
    lines_.push_back({before, std::string(before.empty() ? path : lastPart(path)), row});
    nameWidth_ = std::max(nameWidth_, displayWidth(before + lines_.back().name));
    phaseWidth_ = std::max(phaseWidth_, displayWidth(text(row, "phase")));
    const auto found = children_.find(path);
    if (found == children_.end()) return;
    for (size_t i = 0; i < found->second.size(); ++i) {
      const bool last = i + 1 == found->second.size();
      add(*found->second[i], below + (last ? "└─ " : "├─ "), below + (last ? "   " : "│  "));
    }
  }

  std::string render() const {
    std::string out;
    for (const auto& line : lines_) out += renderLine(line);
    return out;
  }

 private:
  struct Line {
    std::string before, name;
    bson::View row;
  };

  std::string renderLine(const Line& line) const {
    const std::string_view phase = text(line.row, "phase");
    const size_t used = displayWidth(line.before + line.name);
    std::string out = paint_.dim(line.before) + paint_.bold(line.name) + std::string(nameWidth_ - used + 2, ' ') +
                      paintedPhase(phase, paint_);
    std::string notes;
    const auto strategy = text(line.row, "strategy");
    for (const auto& note : {strategy.empty() ? std::string() : "restarts " + std::string(strategy), remarks(line.row)})
      if (!note.empty()) notes += (notes.empty() ? "" : ", ") + note;
    const std::string unusual = warnings(line.row);
    if (notes.empty() && unusual.empty()) return out + "\n";
    out.append(phaseWidth_ - displayWidth(phase) + 2, ' ');
    const size_t room = std::max<size_t>(width_, nameWidth_ + phaseWidth_ + 24) - nameWidth_ - phaseWidth_ - 4;
    // Ordinary text is cut before unusual facts are.
    if (!unusual.empty()) out += paint_.yellow(fitTo(unusual, room)) + (notes.empty() ? "" : "  ");
    const size_t taken = unusual.empty() ? 0 : displayWidth(unusual) + 2;
    if (taken < room) out += paint_.dim(fitTo(notes, room - taken));
    return out + "\n";
  }

  Children children_;
  size_t width_;
  const Paint& paint_;
  std::vector<Line> lines_;
  size_t nameWidth_ = 0, phaseWidth_ = 0;
};

double sortKey(bson::View row, std::string_view by) {
  if (by == "rate") return row["handledPerSecond"].toDouble();
  if (by == "mailbox") return row["mailboxLength"].toDouble();
  if (by == "busy") return row["busyShare"].toDouble();
  if (by == "restarts") return row["restarts"].toDouble();
  return row["handled"].toDouble();
}

}  // namespace

StatusWith<Rows> readActorRows(client::Connection& connection, bool ofAll) {
  return readRows(connection, ofAll ? bson::doc("actorTree", 1, "members", true) : bson::doc("actorTree", 1));
}

Rows treeOfMembers(const Rows& rows) {
  Rows tree;
  for (const auto& row : rows) {
    const std::string_view node = text(row, "node");
    bson::Builder shown;
    for (const bson::Element& field : row.view()) {
      const bool isPath = field.name() == "path" || (field.name() == "parent" && !field.toStringOr().empty());
      if (isPath) shown.append(field.name(), pathInSet(node, field.toStringOr()));
      else shown.append(field);
    }
    if (const auto why = row["unreachable"]) shown.append("phase", "unreachable").append("lastError", why.toStringOr());
    tree.push_back(shown.finish());
  }
  return tree;
}

StatusWith<Rows> readRows(client::Connection& connection, bson::View command) {
  TROUPE_ASSIGN(auto cursor, client::Cursor::open(connection, "admin", command));
  Rows rows;
  for (;;) {
    TROUPE_ASSIGN(const auto row, cursor.next());
    if (!row) return rows;
    rows.emplace_back(*row);
  }
}

Rows sortedActors(Rows rows, std::string_view by) {
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    if (by == "path") return text(a, "path") < text(b, "path");
    const double x = sortKey(a, by), y = sortKey(b, by);
    // Among equals those that have done more: an idle server shows its busiest actors, not an arbitrary order.
    return x != y ? x > y : a["handled"].toInt64() > b["handled"].toInt64();
  });
  return rows;
}

std::string renderActorTree(const Rows& rows, size_t width, const Paint& paint, std::string_view root) {
  std::unordered_set<std::string_view> known;
  for (const auto& row : rows) known.insert(text(row, "path"));
  Children children;
  std::vector<const bson::Document*> roots;
  for (const auto& row : rows) {
    const auto parent = text(row, "parent"), path = text(row, "path");
    if (!root.empty() ? path == root : parent.empty() || parent == path || !known.contains(parent))
      roots.push_back(&row);
    else children[parent].push_back(&row);
  }
  TreePrinter printer(std::move(children), width, paint);
  for (const auto* row : roots) printer.add(*row, "", "");
  return printer.render();
}

std::string summarizeActors(const Rows& rows) {
  size_t well = 0;
  std::map<std::string, size_t> unwell;
  for (const auto& row : rows) {
    const std::string phase(text(row, "phase"));
    if (isUnwell(phase)) ++unwell[phase];
    else ++well;
  }
  std::string out = fmt::format("{} {}", rows.size(), rows.size() == 1 ? "actor" : "actors");
  if (unwell.empty()) return out + ", all well";
  out += fmt::format(": {} well", well);
  for (const auto& [phase, count] : unwell) out += fmt::format(", {} {}", count, phase);
  return out;
}

const bson::Document* findActor(const Rows& rows, std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const bson::Document* found = nullptr;
  int matches = 0;
  const std::string ending = path.starts_with('/') ? std::string(path) : "/" + std::string(path);
  for (const auto& row : rows) {
    const auto full = text(row, "path");
    if (full == path || full == ending) return &row;
    if (full.ends_with(ending)) found = &row, ++matches;
  }
  return matches == 1 ? found : nullptr;
}

Rows actorsBelow(const Rows& rows, std::string_view root) {
  Rows found;
  for (const auto& row : rows) {
    const auto path = text(row, "path");
    if (root.empty() || path == root || (path.starts_with(root) && path.substr(root.size()).starts_with('/')))
      found.push_back(row);
  }
  return found;
}

int complainOfNoActor(std::string_view path) {
  return complain("no actor, or more than one, is called '" + std::string(path) + "'; `troupe tree` shows their paths");
}

std::string describeField(const bson::Element& field, int64_t nowMillis) {
  switch (field.type()) {
    case bson::Type::kEnd:
    case bson::Type::kNull: return "";
    case bson::Type::kString: return std::string(field.asString());
    case bson::Type::kInt32:
    case bson::Type::kInt64: return formatCount(field.toInt64());
    case bson::Type::kDouble:
      if (field.name() == "busyShare") return fmt::format("{:.1f}%", field.asDouble() * 100);
      return fmt::format("{:.2f}", field.asDouble());
    case bson::Type::kBool: return field.asBool() ? "yes" : "no";
    case bson::Type::kDate: {
      const auto ago = static_cast<double>(std::max<int64_t>(nowMillis - field.asDate().millis, 0)) / 1000;
      return formatDuration(ago) + " ago";
    }
    default: return bson::toRelaxedJson(field);
  }
}

}  // namespace troupe::supervisors
