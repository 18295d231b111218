#include "supervisors/arguments/argument_parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <type_traits>
#include <utility>

#include "supervisors/arguments/bash_completion.hpp"
#include "supervisors/arguments/manual_options.hpp"

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

/// CLI11 reads no text at all as zero, and a whole number beyond 64 bits as the largest or least one.
std::string noNumber(const std::string& text) {
  if (text.empty()) return "a number is missing";
  errno = 0;
  std::strtoll(text.c_str(), nullptr, 0);
  return errno == ERANGE ? text + " is out of range" : "";
}

std::vector<std::string> splitNames(const std::string& names) {
  std::vector<std::string> result;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) result.push_back(name.substr(name.starts_with('!') ? 1 : 0));
  return result;
}

/// What a value is called where its rules give it no name.
std::string valueNameOf(const ArgumentTarget& target) {
  if (std::holds_alternative<bool*>(target)) return "";
  const bool isText =
      std::holds_alternative<std::string*>(target) || std::holds_alternative<std::vector<std::string>*>(target);
  return isText ? "TEXT" : "NUMBER";
}

std::string defaultOf(const ArgumentTarget& target) {
  return std::visit(
      [](auto* value) {
        std::ostringstream out;
        if constexpr (!std::is_same_v<decltype(value), std::vector<std::string>*>) out << *value;
        return out.str();
      },
      target);
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

ArgumentParser::ArgumentParser(std::unique_ptr<Reader> reader) : reader_(std::move(reader)) {
  declare("-h,--help", "print this help and exit");
}

ArgumentParser::ArgumentParser(std::string description, std::string program) {
  auto app = std::make_unique<CLI::App>(std::move(description), std::move(program));
  CLI::App& reference = *app;
  reader_ = std::make_unique<Reader>(Reader{std::move(app), reference});
  declare("-h,--help", "print this help and exit");
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
  if (valueNameOf(target) == "NUMBER") option->check(noNumber, "");
  obey(*option, rules);
  const std::string valueName = valueNameOf(target);
  declared_.push_back({.names = splitNames(names),
                       .help = help,
                       .defaultText = rules.showDefault ? defaultOf(target) : "",
                       .valueName = valueName.empty() || rules.valueName.empty() ? valueName : rules.valueName,
                       .oneOf = rules.oneOf});
  return *this;
}

void ArgumentParser::declare(const std::string& names, const std::string& help) {
  declared_.push_back({.names = splitNames(names), .help = help, .defaultText = {}, .valueName = {}, .oneOf = {}});
}

ArgumentParser& ArgumentParser::footer(const std::string& text) {
  reader_->app.footer(text);
  return *this;
}

ArgumentParser& ArgumentParser::version(const std::string& text) {
  reader_->app.set_version_flag("--version", text);
  reader_->app.set_help_all_flag("--help-all", "the help of every command");
  declare("--version", "print the version and exit");
  declare("--help-all", "print the help of every command and exit");
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
  declared_.clear();
  app.set_help_flag();
  app.set_help_all_flag();
  app.prefix_command();
  app.callback([&app, &rest] { rest = app.remaining(); });
  return *this;
}

ArgumentParser::Outcome ArgumentParser::parse(int argc, const char* const* argv) {
  if (argc == 2 && argv[1] == std::string_view("--manual-options")) return {Outcome::kTell, manualOptions(*this)};
  if (argc == 2 && argv[1] == std::string_view("--bash-completion")) return {Outcome::kTell, bashCompletion(*this)};
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

std::string ArgumentParser::description() const { return reader_->app.get_description(); }

const ArgumentParser* ArgumentParser::chosen() const {
  const auto isGiven = [](const auto& command) { return command->reader_->app.parsed(); };
  const auto found = std::find_if(commands_.begin(), commands_.end(), isGiven);
  return found == commands_.end() ? nullptr : found->get();
}

}  // namespace troupe::supervisors
