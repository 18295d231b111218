#pragma once
#include <string>

namespace troupe::supervisors {

class ArgumentParser;

/// The commands and options of a program as sections of a manual page, in the language of man(7): what `--help` tells,
/// from the same declarations. Any thread.
std::string manualOptions(const ArgumentParser& program);

}  // namespace troupe::supervisors
