#include "test/model/script.hpp"

#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "test/model/narrator.hpp"
#include "test/model/walker.hpp"

namespace troupe::model {

namespace {

constexpr int kMostSteps = 1000;

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// Whether the words stand in the line in this order, beginning with the first one.
bool fits(const std::vector<std::string>& line, const std::vector<std::string>& wanted) {
  size_t at = 0;
  for (const auto& word : line) at += at < wanted.size() && word == wanted[at] ? 1 : 0;
  return at == wanted.size() && line[0] == wanted[0];
}

class Player {
 public:
  explicit Player(const std::function<Model(const std::string&)>& modelOf) : modelOf_(modelOf) {}

  /// The output of the command.
  std::string play(const std::string& line) {
    const auto command = words(line);
    if (command[0] == "model") {
      model_ = std::make_unique<Model>(modelOf_(command.size() > 1 ? command[1] : ""));
      walker_ = std::make_unique<Walker>(*model_);
      return {};
    }
    if (!walker_) throw std::invalid_argument("the script does not begin with `model NAME`");
    if (command[0] == "start" && command.size() == 1) return Narrator(walker_->space()).beginning(walker_->now());
    if (command[0] == "settle") return settle();
    for (const auto& happening : walker_->possible())
      if (fits(words(Narrator(walker_->space()).command(happening.before, happening.action)), command))
        return take(happening);
    std::string known;
    for (const auto& happening : walker_->possible())
      known += "\n  " + Narrator(walker_->space()).command(happening.before, happening.action);
    throw std::invalid_argument("'" + line + "' can't happen now. What can:" + known);
  }

 private:
  std::string settle() {
    std::string out;
    for (int step = 0; step < kMostSteps; ++step) {
      std::optional<Happening> next;
      for (const auto& h : walker_->possible()) {
        const bool arrives = h.action.what == Action::What::kDeliver, comes = h.action.what == Action::What::kOutcome;
        if (h.action.isFault() || (!arrives && !comes)) continue;
        if (!next || (arrives && next->action.what == Action::What::kOutcome)) next = h;
      }
      if (!next) return out;
      out += take(*next);
    }
    return out + "  # and so on\n";
  }
  std::string take(const Happening& happening) {
    return Narrator(walker_->space()).consequences(walker_->take(happening));
  }

  const std::function<Model(const std::string&)>& modelOf_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Walker> walker_;
};

}  // namespace

std::string playScript(const std::string& text, const std::function<Model(const std::string& name)>& modelOf) {
  Player player(modelOf);
  std::istringstream lines(text);
  std::string out;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("  ")) continue;
    out += line + "\n";
    if (words(line).empty()) continue;
    try {
      out += player.play(line);
    } catch (const std::exception& error) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return out;
}

}  // namespace troupe::model
