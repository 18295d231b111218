#include "supervisors/arguments/manual_options.hpp"

#include <algorithm>

#include "supervisors/arguments/argument_parser.hpp"

namespace troupe::supervisors {

namespace {

/// Hyphens that are to be copied are minus signs to troff; a line must not begin with a dot or an apostrophe.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += std::string("\\&") + c;
    else out += c;
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + troff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + troff(text) + "\\fR"; }

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : between) + part;
  return out;
}

std::string entry(const DeclaredArgument& argument) {
  std::vector<std::string> names;
  for (const auto& name : argument.names) names.push_back(argument.isPositional() ? italic(name) : bold(name));
  std::string out = ".TP\n" + joined(names, ", ");
  if (!argument.isFlag() && !argument.isPositional()) out += " " + italic(argument.valueName);
  out += "\n" + troff(argument.help);
  if (!argument.oneOf.empty()) out += "; one of " + bold(joined(argument.oneOf, " "));
  if (!argument.defaultText.empty()) out += " (default: " + troff(argument.defaultText) + ")";
  return out + "\n";
}

std::string entries(const ArgumentParser& parser) {
  std::string out;
  for (const bool positional : {true, false})
    for (const auto& argument : parser.declared())
      if (argument.isPositional() == positional) out += entry(argument);
  return out;
}

}  // namespace

std::string manualOptions(const ArgumentParser& program) {
  std::string out = ".SH OPTIONS\n" + entries(program);
  if (program.commands().empty()) return out;
  out += ".SH COMMANDS\n";
  for (const auto& command : program.commands())
    out += ".SS " + troff(program.name() + " " + command->name()) + "\n" + troff(command->description()) + "\n" +
           entries(*command);
  return out;
}

}  // namespace troupe::supervisors
