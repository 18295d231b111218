#pragma once
#include <string>

namespace troupe::supervisors {

class ArgumentParser;

/// A script that bash reads to complete the command lines of a program: its commands, the options of each, and values
/// where they are few. Everything else is completed as names of files. From the declarations that `--help` tells. Any
/// thread.
std::string bashCompletion(const ArgumentParser& program);

}  // namespace troupe::supervisors
