// Plays all interaction scripts and writes them again: ./dev scripts.
#include <cstdio>
#include <exception>
#include <fstream>

#include "test/model/script.hpp"
#include "test/scripts/script_models.hpp"

int main() {
  using namespace troupe::model;
  int failures = 0;
  for (const auto& file : scriptFiles()) {
    try {
      const std::string before = contentsOf(file), after = playScript(before, scriptModel);
      if (before != after) std::ofstream(file) << after;
      std::printf("%s %s\n", before == after ? "same   " : "written", file.c_str());
    } catch (const std::exception& error) {
      std::printf("FAILED  %s, %s\n", file.c_str(), error.what());
      ++failures;
    }
  }
  return failures ? 1 : 0;
}
