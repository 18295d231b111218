#include "test/simulation/workload.hpp"

#include <utility>
#include <vector>

namespace troupe::sim {

namespace {

Task<void> count(std::shared_ptr<Tally> tally, std::shared_ptr<bool> answered, Future<Answer> from) {
  const Answer answer = co_await from;
  if (answer.isOK()) ++tally->done;
  else ++tally->refused[errorName(answer.status().code())];
  if (answered) *answered = true;
}

}  // namespace

void Workload::begin() {
  for (size_t i = 0; i < scenario_.workloads.size(); ++i) planNext(i);
}

void Workload::planNext(size_t work) {
  cluster_.at(scenario_.workloads[work].every.draw(random_), [this, work] {
    if (over_) return;
    ask(scenario_.workloads[work]);
    planNext(work);
  });
}

void Workload::send(const std::string& node, const char* path, const char* name, Payload command,
                    std::shared_ptr<bool> answered) {
  cluster_.note(TraceEvent::Kind::kNote, node, "operator", "asks", name);
  ++tally_->asked;
  Node& at = cluster_.life(node).node();
  at.start(count(tally_, std::move(answered), at.ask(at.address(path), std::move(command))));
}

std::string Workload::anyWorking() {
  std::vector<std::string> found;
  for (const std::string& node : cluster_.nodes())
    if (cluster_.isAlive(node)) found.push_back(node);
  return found.empty() ? "" : found[below(found.size())];
}

}  // namespace troupe::sim
