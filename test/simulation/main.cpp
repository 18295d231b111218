#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "actors/environment/environment.hpp"
#include "supervisors/arguments/argument_parser.hpp"
#include "test/simulation/scenario_run.hpp"
#include "test/simulation/subject.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

enum ExitCode : int { kClean = 0, kBroken = 1, kUsage = 2 };

struct Options {
  std::vector<std::string> scenarios;
  uint64_t seed = 1, seeds = 1;
  std::string traceFile;
  size_t lines = 60;
  bool once = false, quiet = false, everySite = false;
};

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

/// Runs seeds one after the other and tells how it goes.
class Runner {
 public:
  explicit Runner(Options options) : options_(std::move(options)), begun_(real_->now()) {}

  int run(const std::vector<Scenario>& scenarios) {
    for (uint64_t i = 0; i < options_.seeds; ++i) {
      const Scenario& scenario = scenarios[i % scenarios.size()];
      if (!runSeed(scenario, options_.seed + i / scenarios.size())) failed_.push_back(scenario.file);
      progress(false);
    }
    progress(true);
    fmt::print(
        "{} seeds of {} scenarios{}, {} failed: {:.1f} seeds/s, {:.0f} s simulated in {:.1f} s, {:.0f} x wall time\n",
        done_, std::min<uint64_t>(options_.seeds, scenarios.size()), options_.once ? "" : ", each twice",
        failed_.size(), static_cast<double>(done_) / wall(), seconds(simulated_), wall(), seconds(simulated_) / wall());
    fmt::print("{} faults, {} messages, {} turns, {} terms and hand-offs; commands: {} asked, {} done", faults_,
               messages_, turns_, terms_, asked_, answered_);
    for (const auto& [error, count] : refused_) fmt::print(", {} {}", count, error);
    fmt::print("\n");
    const bool allFired = tellOfSites();
    const bool allSeen = tellOfStates(scenarios);
    return failed_.empty() && allSeen && (allFired || !options_.everySite) ? kClean : kBroken;
  }

 private:
  /// How often each site of the code fired; false if one never did.
  bool tellOfSites() const {
    if (sites_.empty() && !options_.everySite) return true;
    std::vector<std::string_view> silent;
    fmt::print("fault sites:");
    for (const auto& [site, count] : sites_) fmt::print(" {} {}", site, count);
    for (const FaultSite* site : FaultSite::all())
      if (!sites_.contains(site->name())) silent.push_back(site->name());
    fmt::print("\n");
    if (!silent.empty())
      fmt::print("{}: {}\n", options_.everySite ? "FAILED  these sites never fired" : "silent",
                 fmt::join(silent, ", "));
    return silent.empty();
  }

  /// A scenario in which what it was made for does not happen proves nothing. A few seeds may miss it by chance.
  bool tellOfStates(const std::vector<Scenario>& scenarios) const {
    constexpr uint64_t kEnough = 5;
    bool allSeen = true;
    std::map<std::string, uint64_t> all;
    for (const Scenario& scenario : scenarios) {
      const auto found = seen_.find(scenario.file);
      if (found == seen_.end()) continue;
      for (const auto& [state, count] : found->second.states) all[state] += count;
      for (const std::string& state : scenario.states) {
        if (found->second.seeds < kEnough || found->second.states.contains(state)) continue;
        allSeen = false;
        fmt::print("FAILED  {}: in {} seeds no member was ever in {}\n", scenario.name, found->second.seeds, state);
      }
    }
    if (!all.empty()) fmt::print("members came to be:");
    for (const auto& [state, count] : all) fmt::print(" {} {}", state, count);
    if (!all.empty()) fmt::print("\n");
    return allSeen;
  }

  bool runSeed(const Scenario& scenario, uint64_t seed) {
    std::string tail;
    const size_t keep = options_.traceFile.empty() ? options_.lines : 0;
    const RunOutcome first = runScenario(scenario, seed, keep, [&](const Trace& trace) {
      tail = tailOf(trace, options_.lines);
      if (!options_.traceFile.empty()) writeTrace(scenario, seed, trace);
    });
    add(first);
    ++done_;
    Seen& seen = seen_[scenario.file];
    ++seen.seeds;
    for (const auto& [state, count] : first.states) seen.states[state] += count;
    if (!first.broken.empty()) return report(scenario, seed, first.broken, tail);
    if (options_.once) return true;
    const RunOutcome second = runScenario(scenario, seed, 1);
    add(second);
    if (first.hash == second.hash && first.events == second.events) return true;
    return report(scenario, seed, "two runs of the seed differ", firstDifference(scenario, seed));
  }

  bool report(const Scenario& scenario, uint64_t seed, const std::string& broken, const std::string& tail) {
    clearLine();
    fmt::print("\nFAILED  {}: {}\n        again: troupe sim --scenario {} --seed {}\n{}\n", scenario.name, broken,
               scenario.file, seed, tail);
    std::fflush(stdout);
    return false;
  }

  void writeTrace(const Scenario& scenario, uint64_t seed, const Trace& trace) {
    std::ofstream out(options_.traceFile);
    out << toTimelineJson(trace, fmt::format("{}, seed {}", scenario.name, seed)) << "\n";
    if (!out) throw std::runtime_error("cannot write " + options_.traceFile);
  }

  void add(const RunOutcome& outcome) {
    simulated_ += outcome.simulated;
    faults_ += outcome.faults;
    messages_ += outcome.messages;
    turns_ += outcome.turns;
    terms_ += outcome.progress;
    asked_ += outcome.tally.asked;
    answered_ += outcome.tally.done;
    for (const auto& [error, count] : outcome.tally.refused) refused_[error] += count;
    for (const auto& [site, count] : outcome.sites) sites_[site] += count;
  }

  double wall() const { return std::max(1e-6, seconds(real_->now() - begun_)); }
  void clearLine() const {
    if (!options_.quiet) std::cerr << "\r\033[K" << std::flush;
  }
  void progress(bool last) {
    if (options_.quiet) return;
    if (last) return clearLine();
    if (seconds(real_->now() - shown_) < 0.5) return;
    shown_ = real_->now();
    std::cerr << fmt::format("\r\033[K{} of {} seeds, {} failed, {:.1f} seeds/s, {:.0f} x wall time", done_,
                             options_.seeds, failed_.size(), static_cast<double>(done_) / wall(),
                             seconds(simulated_) / wall())
              << std::flush;
  }

  const Options options_;
  std::shared_ptr<Environment> real_ = makeRealEnvironment();
  const TimePoint begun_;
  TimePoint shown_{};
  Duration simulated_{};
  uint64_t done_ = 0, faults_ = 0, messages_ = 0, turns_ = 0, asked_ = 0, answered_ = 0;
  int64_t terms_ = 0;
  std::map<std::string, uint64_t> refused_;
  SiteCounts sites_;
  /// What the seeds of a scenario have seen.
  struct Seen {
    uint64_t seeds = 0;
    std::map<std::string, uint64_t> states;
  };
  std::map<std::string, Seen> seen_;
  std::vector<std::string> failed_;
};

/// Folders stand for the scenarios in them, in the order of their names.
std::vector<std::string> filesOf(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& path : given) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const size_t first = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
    std::sort(files.begin() + static_cast<ptrdiff_t>(first), files.end());
  }
  return files;
}

int complain(const std::string& what) {
  std::cerr << "troupe sim: " << what << "\n";
  return kUsage;
}

int simulate(Options options) {
  std::vector<Scenario> scenarios;
  for (const std::string& file : filesOf(options.scenarios)) {
    auto scenario = readScenario(file, invariantNames);
    if (!scenario.isOK()) return complain(scenario.status().reason());
    scenarios.push_back(std::move(*scenario));
  }
  if (scenarios.empty()) return complain("there is no scenario (*.toml) there");
  if (!options.traceFile.empty() && options.seeds > 1) return complain("--trace goes with one seed: leave --seeds out");
  return Runner(std::move(options)).run(scenarios);
}

}  // namespace

int main(int argc, char** argv) {
  using supervisors::ArgumentParser;
  ArgumentParser program(
      "Runs a cluster in one process on virtual time, with faults, from a seed. A failing seed prints how to run it "
      "again, what was broken, and the last lines of its trace.",
      "troupe sim");
  Options options;
  program.add("--scenario", &options.scenarios, "a scenario file, or a folder of them; may be given more than once",
              {.required = true, .valueName = "FILE"});
  program.add("--seed", &options.seed, "the first seed", {.showDefault = true, .valueName = "N"});
  program.add("--seeds", &options.seeds, "how many seeds, spread over the scenarios",
              {.showDefault = true, .valueName = "COUNT", .least = 1});
  program.add("--trace", &options.traceFile, "where to write the timeline of the seed, for the admin page",
              {.valueName = "FILE"});
  program.add("--lines", &options.lines, "how many lines of the trace a failure shows",
              {.showDefault = true, .valueName = "N"});
  program.add("--once", &options.once, "run each seed once, and do not compare two runs");
  program.add("--every-site", &options.everySite, "fail if one of the code's fault sites never fired");
  program.add("--quiet", &options.quiet, "no progress on standard error");
  program.footer("Exit codes: 0 all held, 1 something was broken, 2 wrong usage or a mistake in a scenario.");
  const auto outcome = program.parse(argc, argv);
  if (outcome.kind == ArgumentParser::Outcome::kTell) return std::cout << outcome.text, kClean;
  if (outcome.kind == ArgumentParser::Outcome::kWrong) return complain(outcome.text);
  try {
    return simulate(std::move(options));
  } catch (const std::exception& e) {
    return complain(e.what());
  }
}
