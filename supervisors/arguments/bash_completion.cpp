#include "supervisors/arguments/bash_completion.hpp"

#include "supervisors/arguments/argument_parser.hpp"

namespace troupe::supervisors {

namespace {

std::string words(const std::vector<std::string>& texts, const char* between = " ") {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : between) + text;
  return out;
}

/// Lines of `case "$command $before"`: what follows an option that takes a value.
std::string valueCases(const ArgumentParser& parser, const std::string& command) {
  std::string out;
  for (const auto& argument : parser.declared()) {
    if (argument.isFlag() || argument.isPositional()) continue;
    std::string patterns;
    for (const auto& name : argument.names) patterns += (patterns.empty() ? "\"" : "|\"") + command + " " + name + "\"";
    out +=
        "    " + patterns + ") COMPREPLY=($(compgen -W \"" + words(argument.oneOf) + "\" -- \"$word\")); return ;;\n";
  }
  return out;
}

/// What stands first behind a command, where only some words can.
std::string firstWordCase(const ArgumentParser& command) {
  for (const auto& argument : command.declared()) {
    if (!argument.isPositional()) continue;
    if (argument.oneOf.empty()) break;
    return "    \"" + command.name() + " " + command.name() + "\") [[ $word == -* ]] || { COMPREPLY=($(compgen -W \"" +
           words(argument.oneOf) + "\" -- \"$word\")); return; } ;;\n";
  }
  return {};
}

std::string optionNames(const ArgumentParser& parser) {
  std::vector<std::string> names;
  for (const auto& argument : parser.declared())
    if (!argument.isPositional()) names.insert(names.end(), argument.names.begin(), argument.names.end());
  return words(names);
}

}  // namespace

std::string bashCompletion(const ArgumentParser& program) {
  std::vector<std::string> commands;
  for (const auto& command : program.commands()) commands.push_back(command->name());
  const std::string name = program.name(), function = "_" + name;
  std::string out = "# bash completion of " + name + "\n" + function +
                    "() {\n"
                    "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" command=\"\" i\n"
                    "  COMPREPLY=()\n";
  if (!commands.empty())
    out += "  for ((i = 1; i < COMP_CWORD; ++i)); do\n    case \"${COMP_WORDS[i]}\" in\n      " + words(commands, "|") +
           ") command=\"${COMP_WORDS[i]}\"; break ;;\n    esac\n  done\n";
  out += "  case \"$command $before\" in\n" + valueCases(program, "");
  for (const auto& command : program.commands()) out += valueCases(*command, command->name()) + firstWordCase(*command);
  // A word that is no option is a file, or what the program asks for; without any reply bash completes files.
  out += "  esac\n  case \"$command$word\" in\n    -*) COMPREPLY=($(compgen -W \"" + optionNames(program) +
         "\" -- \"$word\")) ;;\n";
  for (const auto& command : program.commands())
    out +=
        "    " + command->name() + "-*) COMPREPLY=($(compgen -W \"" + optionNames(*command) + "\" -- \"$word\")) ;;\n";
  out += "    *) [[ -n $command ]] || COMPREPLY=($(compgen -W \"" + words(commands) +
         "\" -- \"$word\")) ;;\n  esac\n}\ncomplete -o default -F " + function + " " + name + "\n";
  return out;
}

}  // namespace troupe::supervisors
