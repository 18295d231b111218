// Plants each bug and prints who noticed it: ./dev mutants.
#include <cstdio>
#include <string>

#include "test/model/mutants/mutant.hpp"

int main(int argc, char** argv) {
  using namespace troupe::model;
  const std::string filter = argc > 1 ? argv[1] : "";
  const bool tells = argc > 2 && std::string(argv[2]) == "--story";
  int caught = 0, all = 0;
  std::printf("%-10s %-50s %9s %5s  %s\n", "protocol", "planted bug", "states", "steps", "caught by");
  for (const Mutant& mutant : allMutants()) {
    if ((std::string(mutant.protocol) + " " + mutant.name).find(filter) == std::string::npos) continue;
    const Verdict verdict = examine(mutant);
    ++all;
    caught += verdict.isCaught ? 1 : 0;
    const std::string by = verdict.isCaught ? verdict.broken.broken
                           : verdict.broken.broken.empty()
                               ? "NOT CAUGHT"
                               : "WRONGLY: " + verdict.broken.broken + "; without it: " + verdict.sound.broken;
    std::printf("%-10s %-50s %9llu %5u  %s\n", mutant.protocol, mutant.name,
                static_cast<unsigned long long>(verdict.broken.states), verdict.broken.storyLength, by.c_str());
    if (tells) std::printf("%s", verdict.broken.story.c_str());
    std::fflush(stdout);
  }
  std::printf("\n%d of %d caught\n", caught, all);
  return caught == all && all > 0 ? 0 : 1;
}
