#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe::supervisors {

/// The variable that an argument is stored in; its value is the default. Those of a bool are flags: present or absent.
using ArgumentTarget =
    std::variant<std::string*, std::vector<std::string>*, bool*, int64_t*, uint64_t*, uint16_t*, double*>;

/// Rules of an argument besides its type.
struct ArgumentRules {
  bool required = false;
  bool showDefault = false;
  std::string valueName = {};           ///< what the help calls the value ("FILE"); empty: its type
  std::string variable = {};            ///< of the environment: gives the value where the command line does not
  std::vector<std::string> oneOf = {};  ///< the values allowed; empty: any
  std::optional<double> least = std::nullopt, most = std::nullopt;
  /// Returns what is wrong with a value; empty: nothing.
  std::function<std::string(const std::string&)> check = nullptr;
};

/// An argument as it was declared: what manual pages and completion are made of.
struct DeclaredArgument {
  std::vector<std::string> names;  ///< "-n", "--count"; one without a dash is by position
  std::string help, defaultText;   ///< `defaultText`: empty unless it is shown
  std::string valueName;           ///< empty: a flag
  std::vector<std::string> oneOf;  ///< the values allowed; empty: any

  bool isFlag() const { return valueName.empty(); }
  bool isPositional() const { return !names.front().starts_with('-'); }
};

/// Reads the command line of a program, or of one of its commands, and writes its help. CLI11 does the work; no other
/// file includes it, for its headers take a compiler six seconds. Used by one thread; what arguments point to outlives
/// it. Mistakes in the declarations throw CLI::Error.
class ArgumentParser {
 public:
  ArgumentParser(std::string description, std::string program);
  ~ArgumentParser();
  ArgumentParser(const ArgumentParser&) = delete;

  /// `names`: "-n,--count"; "FILE" for one by position; "--auth,!--noauth" for a flag that can be taken back.
  ArgumentParser& add(const std::string& names, ArgumentTarget target, const std::string& help,
                      const ArgumentRules& rules = {});
  /// Text at the end of the help.
  ArgumentParser& footer(const std::string& text);
  /// Adds --version, and --help-all for the help of all commands.
  ArgumentParser& version(const std::string& text);
  /// From now on one of the commands must be given. The reference lasts as long as this.
  ArgumentParser& command(const std::string& name, const std::string& help, std::function<int()> action);
  /// All that follows the name of this command, unread, its --help too.
  ArgumentParser& takesRest(std::vector<std::string>& rest);

  struct Outcome {
    enum Kind { kRun, kTell, kWrong } kind;
    std::string text = {};  ///< to tell instead of running (help, version), or what is wrong
  };
  /// Besides what is declared, every program takes `--manual-options` and `--bash-completion`, each alone: they tell
  /// the options as a part of a manual page, and a script of bash. Packages are built with them.
  Outcome parse(int argc, const char* const* argv);

  // After parse().
  /// `name`: one of an argument's names.
  bool given(const std::string& name) const;
  std::string help() const;
  /// The command given, or null.
  const ArgumentParser* chosen() const;
  std::string name() const;
  std::string description() const;
  const std::vector<DeclaredArgument>& declared() const { return declared_; }
  const std::vector<std::unique_ptr<ArgumentParser>>& commands() const { return commands_; }
  /// Does what the command is for.
  int run() const { return action_(); }

 private:
  struct Reader;
  explicit ArgumentParser(std::unique_ptr<Reader> reader);
  void declare(const std::string& names, const std::string& help);
  std::unique_ptr<Reader> reader_;
  std::vector<std::unique_ptr<ArgumentParser>> commands_;
  std::vector<DeclaredArgument> declared_;
  std::function<int()> action_;
};

}  // namespace troupe::supervisors
