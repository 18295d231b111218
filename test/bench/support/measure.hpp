#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::bench {

/// A measurement that cannot go on: a refused connection, a wrong answer.
struct BenchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The work that one thread repeats; returns how many units of work that was.
using Work = std::function<int64_t()>;
/// Makes the work of a thread, on that thread, before the clock starts.
using WorkFactory = std::function<Work(int thread)>;

/// Work of several threads together.
struct Measured {
  double perSecond = 0;  ///< units of work
  double cpuMicros = 0;  ///< processor time of the observed process for each unit
};

/// Runs the work on `threads` threads for `seconds`, all starting together. `pid`: the process, with its children,
/// whose processor time is taken from the common start to the last unit, connecting and parting left out; 0: none.
/// Throws what a thread threw.
Measured measureWork(int threads, double seconds, const WorkFactory& make, int pid = 0);

double median(std::vector<double> values);

/// Processor seconds, user and system, that a process and its children have used, also children that have ended; 0 when
/// there is none. For judging a server on a machine it shares with its load.
double cpuSeconds(int pid);

/// Processor nanoseconds that the calling thread has used: what others do on the machine does not count.
double threadNanos();

/// Resident bytes of a process; 0 when there is none.
int64_t residentBytes(int pid);

/// One line of the table.
struct Result {
  std::string work;
  std::string against;
  std::string unit;
  double troupe = 0;
  double reference = 0;
  double floor = 0;    ///< the least ratio asked for, where more is better; 0 when none is
  double ceiling = 0;  ///< the greatest ratio allowed, where less is better; 0 when none is
  std::map<std::string, double> details = {};

  /// Troupe's figure over the reference.
  double ratio() const { return reference > 0 ? troupe / reference : 0; }
};

/// Prints the result as one line of JSON on standard output.
void report(const Result& result);

/// `--name value` arguments; unknown names end the program with a message.
class Arguments {
 public:
  /// `defaults`: every name there is, with its value when not given.
  Arguments(int argc, char** argv, std::map<std::string, std::string> defaults);
  std::string text(const std::string& name) const { return values_.at(name); }
  int number(const std::string& name) const { return std::stoi(values_.at(name)); }
  double decimal(const std::string& name) const { return std::stod(values_.at(name)); }

 private:
  std::map<std::string, std::string> values_;
};

/// Runs the program's body; a failure is printed and becomes exit code 1.
int run(const std::function<void()>& body);

}  // namespace troupe::bench
