#include "supervisors/arguments/argument_parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <type_traits>
#include <utility>

namespace troupe::supervisors {

/// A program owns its parser; a command's belongs to that of its program.
struct ArgumentParser::Reader {
  std::unique_ptr<CLI::App> owned;
  CLI::App& app;
};

namespace {

std::string rangeOf(const ArgumentRules& rules) {
  const auto number = [](double value) { return (std::ostringstream() << value).str(); };
  if (!rules.most) return "at least " + number(*rules.least);
  return rules.least ? "between " + number(*rules.least) + " and " + number(*rules.most)
                     : "at most " + number(*rules.most);
}

/// Text that is no number is left to the conversion.
std::string outOfRange(const ArgumentRules& rules, const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  const bool fits = (!rules.least || value >= *rules.least) && (!rules.most || value <= *rules.most);
  return fits ? "" : text + " is not " + rangeOf(rules);
}

void obey(CLI::Option& option, const ArgumentRules& rules) {
  option.required(rules.required);
  if (!rules.valueName.empty()) option.type_name(rules.valueName);
  if (!rules.variable.empty()) option.envname(rules.variable);
  if (rules.showDefault) option.capture_default_str();
  if (!rules.oneOf.empty()) option.check(CLI::IsMember(rules.oneOf));
  if (rules.least || rules.most)
    option.check([rules](const std::string& text) { return outOfRange(rules, text); }, rangeOf(rules));
  if (rules.check) option.check(rules.check);
}

}  // namespace

ArgumentParser::ArgumentParser(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {}

ArgumentParser::ArgumentParser(std::string description, std::string program) {
  auto app = std::make_unique<CLI::App>(std::move(description), std::move(program));
  CLI::App& reference = *app;
  reader_ = std::make_unique<Reader>(Reader{std::move(app), reference});
}

ArgumentParser::~ArgumentParser() = default;

ArgumentParser& ArgumentParser::add(const std::string& names, ArgumentTarget target, const std::string& help,
                                    const ArgumentRules& rules) {
  CLI::Option* option = std::visit(
      [&](auto* value) {
        if constexpr (std::is_same_v<decltype(value), bool*>) return reader_->app.add_flag(names, *value, help);
        else return reader_->app.add_option(names, *value, help);
      },
      target);
  // One value each time a list is mentioned: what follows may be something else.
  if (std::holds_alternative<std::vector<std::string>*>(target)) option->allow_extra_args(false);
  obey(*option, rules);
  return *this;
}

ArgumentParser& ArgumentParser::footer(const std::string& text) {
  reader_->app.footer(text);
  return *this;
}

ArgumentParser& ArgumentParser::version(const std::string& text) {
  reader_->app.set_version_flag("--version", text);
  reader_->app.set_help_all_flag("--help-all", "the help of every command");
  return *this;
}

ArgumentParser& ArgumentParser::command(const std::string& name, const std::string& help, std::function<int()> action) {
  reader_->app.require_subcommand(1);
  CLI::App& app = *reader_->app.add_subcommand(name, help);
  commands_.emplace_back(new ArgumentParser(std::make_unique<Reader>(Reader{nullptr, app})));
  commands_.back()->action_ = std::move(action);
  return *commands_.back();
}

ArgumentParser& ArgumentParser::takesRest(std::vector<std::string>& rest) {
  CLI::App& app = reader_->app;
  app.set_help_flag();
  app.set_help_all_flag();
  app.prefix_command();
  app.callback([&app, &rest] { rest = app.remaining(); });
  return *this;
}

ArgumentParser::Outcome ArgumentParser::parse(int argc, const char* const* argv) {
  const auto isNamed = [&](const auto& command) { return command->name() == argv[1]; };
  if (!commands_.empty() && argc > 1 && argv[1][0] != '-' &&
      std::none_of(commands_.begin(), commands_.end(), isNamed)) {
    const std::string program = name();
    return {Outcome::kWrong, "there is no command '" + std::string(argv[1]) + "'; `" + program + " --help` lists them"};
  }
  try {
    reader_->app.parse(argc, argv);
    return {Outcome::kRun};
  } catch (const CLI::Success& wish) {
    std::ostringstream told;
    reader_->app.exit(wish, told, told);
    return {Outcome::kTell, told.str()};
  } catch (const CLI::ParseError& mistake) {
    const ArgumentParser* command = chosen();
    return {Outcome::kWrong,
            std::string(mistake.what()) + "; see `" + name() + (command ? " " + command->name() : "") + " --help`"};
  }
}

bool ArgumentParser::given(const std::string& name) const { return reader_->app.count(name) > 0; }

std::string ArgumentParser::help() const { return reader_->app.help(); }

std::string ArgumentParser::name() const { return reader_->app.get_name(); }

const ArgumentParser* ArgumentParser::chosen() const {
  const auto isGiven = [](const auto& command) { return command->reader_->app.parsed(); };
  const auto found = std::find_if(commands_.begin(), commands_.end(), isGiven);
  return found == commands_.end() ? nullptr : found->get();
}

}  // namespace troupe::supervisors
