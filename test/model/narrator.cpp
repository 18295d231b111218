#include "test/model/narrator.hpp"

#include <algorithm>
#include <utility>

namespace troupe::model {

namespace {

using What = Action::What;
using Life = Local::Life;

const char* durabilityName(Durability durability) {
  switch (durability) {
    case Durability::kLocal: return "local";
    case Durability::kJournaled: return "journaled";
    case Durability::kMajority: break;
  }
  return "majority";
}

/// "Voter{term=2, peers=[a, b]}" -> "term=2", "peers=[a, b]".
std::vector<std::string> fields(const std::string& text) {
  std::vector<std::string> out;
  const size_t open = text.find('{');
  if (open == text.npos) return out;
  int depth = 0;
  bool quoted = false;
  std::string field;
  for (size_t at = open + 1; at + 1 < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && quoted) field += text[at++];
    if (c == '"') quoted = !quoted;
    if (!quoted) depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c == ',' && depth == 0 && !quoted) {
      out.push_back(std::exchange(field, {}));
      ++at;  // the blank
      continue;
    }
    field += text[at];
  }
  if (!field.empty()) out.push_back(field);
  return out;
}

/// Longer texts are cut.
std::string shortened(const std::string& field) {
  constexpr size_t kLongest = 80;
  return field.size() <= kLongest ? field : field.substr(0, kLongest - 20) + " ...";
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string joined(const std::string& a, const std::string& b, const char* between) {
  return a.empty() ? b : b.empty() ? a : a + between + b;
}

}  // namespace

bool Narrator::isHidden(const std::string& field) const {
  const auto& hidden = space_.model().hidden();
  return std::find(hidden.begin(), hidden.end(), field.substr(0, field.find('='))) != hidden.end();
}

std::string Narrator::plain(const std::string& text) const {
  std::string out = text.substr(0, text.find('{'));
  for (const auto& field : fields(text))
    if (!field.ends_with("=\"\"") && !isHidden(field)) out += " " + shortened(field);
  return out;
}

std::string Narrator::changedFields(const std::string& before, const std::string& after) const {
  const auto old = fields(before);
  std::string out;
  for (const auto& field : fields(after)) {
    const bool saysNothing = field.ends_with("=\"\"") || field.ends_with("=[]") || field.ends_with("={}");
    const bool isNew = before.empty() ? !saysNothing : std::find(old.begin(), old.end(), field) == old.end();
    if (isNew && !field.starts_with("phase=") && !isHidden(field)) out += (out.empty() ? "" : " ") + shortened(field);
  }
  return out;
}

std::string Narrator::answersToClient(const StepResult& result, uint8_t node) const {
  std::string out;
  for (const auto& output : result.outputs) {
    const bool replies = output.what == AnyEffect::What::kReply;
    if (!replies && output.what != AnyEffect::What::kRefuse) continue;
    const std::string answer =
        replies ? plain(space_.model().values().text(output.value)) : "(refused: " + output.why.reason() + ")";
    out += "  " + nodeName(node) + " -> client  " + answer + "\n";
  }
  return out;
}

std::string Narrator::who(uint8_t slot) const {
  const auto& model = space_.model();
  const auto& row = model.slots()[slot];
  const auto onNode =
      std::count_if(model.slots().begin(), model.slots().end(), [&](const auto& s) { return s.node == row.node; });
  return nodeName(row.node) + (onNode > 1 ? std::string("/") + row.kind->name() : "");
}

std::string Narrator::message(FlightId id) const {
  const Flight& flight = space_.locals().flight(id);
  const Values& values = space_.model().values();
  const std::string ends = padded(nodeName(flight.fromNode) + " -> " + nodeName(flight.toNode), 10);
  if (flight.value == kNoNumber) return ends + "  (refused)";
  return ends + "  " + plain(values.text(flight.value));
}

std::string Narrator::beginning(const State& state) const {
  std::string out;
  for (uint8_t slot = 0; slot < space_.model().slots().size(); ++slot) {
    const Local& local = space_.locals()[state[slot]];
    if (local.life == Life::kUnborn) continue;
    const Kind& kind = space_.locals().kind(slot);
    out += "  " + padded(who(slot), 10) + ": " +
           joined(kind.phase(local.now), changedFields("", kind.documentText(local.now)), ", ") + "\n";
  }
  return out;
}

std::string Narrator::change(const Happening& h, uint8_t slot) {
  const StepResult* result = space_.resultOf(
      h.before, h.action.what == What::kRestart ? Action{What::kRestart, slot, h.action.node} : h.action);
  if (!result) return {};
  const Local& before = space_.locals()[h.before[slot]];
  const Local& after = space_.locals()[result->next];
  const Kind& kind = space_.locals().kind(slot);
  std::string told;
  if (!result->broken.empty()) {
    told = "BROKEN: " + result->broken;
  } else if (result->finished) {
    told = result->finished->isOK() ? "done" : "ends: " + result->finished->toString();
  } else {
    const bool begins = before.life != Life::kRunning;
    const std::string oldMemory = begins ? std::string() : kind.memoryText(before.now);
    const std::string phase =
        begins || std::string(kind.phase(before.now)) != kind.phase(after.now) ? kind.phase(after.now) : "";
    const std::string document = changedFields(
        begins && before.life == Life::kUnborn ? "" : kind.documentText(before.now), kind.documentText(after.now));
    told =
        joined(phase, joined(document, begins ? "" : changedFields(oldMemory, kind.memoryText(after.now)), " "), ", ");
    if (begins && before.life == Life::kDown) told = "resumes " + told;
  }
  if (told.empty()) return {};
  if (result->persist) told += std::string(" (") + durabilityName(result->durability) + ")";
  return "  " + padded(who(slot), 10) + ": " + told + "\n";
}

std::string Narrator::command(const State&, const Action& action) const {
  const Values& values = space_.model().values();
  const auto named = [&](ValueId value) { return plain(values.text(value)); };
  switch (action.what) {
    case What::kDeliver: {
      const std::string then = action.done == Action::kWhole ? "" : " then crash after " + std::to_string(action.done);
      return (action.again ? "duplicate " : "deliver ") + message(action.flight) + then;
    }
    case What::kLose: return "lose " + message(action.flight);
    case What::kAskAgain: return "ask again " + message(action.flight);
    case What::kTimer: return "timeout " + nodeName(action.node) + " " + named(action.value);
    case What::kOutcome: return "outcome " + nodeName(action.node) + " " + named(action.value);
    case What::kClient: return "client " + nodeName(action.node) + " " + named(action.value);
    case What::kStart: return "start " + who(action.slot);
    case What::kCrash: return "crash " + nodeName(action.node);
    case What::kRestart: break;
  }
  return "restart " + nodeName(action.node);
}

std::string Narrator::consequences(const Happening& h) {
  const Action& action = h.action;
  std::string out;
  if (action.what == What::kDeliver) {
    const Flight& flight = space_.locals().flight(action.flight);
    out += "  " + message(action.flight);
    if (action.again) out += "   # and once more later";
    if (space_.isDown(h.before, flight.toNode)) out += "   # is down";
    out += "\n";
  }
  if (action.what == What::kOutcome) {
    const Values& values = space_.model().values();
    out += "  " + padded(who(action.slot), 10) + "> " + plain(values.text(action.cause)) + ": " +
           plain(values.text(action.value)) + "\n";
  }
  if (action.what == What::kRestart && action.done == Action::kWhole) {
    for (uint8_t slot = 0; slot < space_.model().slots().size(); ++slot)
      if (space_.model().slots()[slot].node == action.node && space_.locals()[h.before[slot]].life == Life::kDown)
        out += change(h, slot);
  } else if (action.slot != Flight::kNobody) {
    out += change(h, action.slot);
    const StepResult* result = space_.resultOf(h.before, action);
    if (result && action.what == What::kClient) out += answersToClient(*result, action.node);
  }
  return out;
}

std::string Narrator::story(const State& first, const std::vector<Happening>& way) {
  std::string out = "start\n" + beginning(first);
  for (const Happening& h : way) {
    if (h.action.what != What::kDeliver) {
      out += command(h.before, h.action);
      if (h.action.what == What::kCrash && h.action.undone) out += "   # what was not safe is undone";
      out += "\n";
    }
    out += consequences(h);
    if (h.action.done == Action::kWhole) continue;
    out += "crash " + nodeName(h.action.node) + "   # after " + std::to_string(h.action.done) + " of its messages";
    out += h.action.undone ? ", what was not safe is undone\n" : "\n";
  }
  return out;
}

}  // namespace troupe::model
