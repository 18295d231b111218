#include "test/simulation/sim_node.hpp"

#include <stdexcept>
#include <utility>

namespace troupe::sim {

namespace {

std::shared_ptr<VirtualEnvironment> environmentAt(uint64_t seed, TimePoint now) {
  auto environment = std::make_shared<VirtualEnvironment>(seed);
  environment->advanceTo(now);
  return environment;
}

void require(const Status& status) {
  if (!status.isOK()) throw std::runtime_error("a simulated node cannot be opened: " + status.toString());
}

}  // namespace

NodeLife::NodeLife(const std::string& name, uint64_t seed, TimePoint now, storage::DeterministicDisk disk,
                   DiskConditions& conditions, std::shared_ptr<transport::Network> network,
                   supervisors::AssemblyOptions options)
    : conditions_(conditions),
      time_(environmentAt(seed, now)),
      disk_(conditions, *time_),
      assembly_(
          time_,
          [this, disk = std::move(disk)](const supervisors::EngineSetting&) {
            return StatusWith<std::unique_ptr<storage::Engine>>(disk_.open(disk));
          },
          std::move(network),
          [&] {
            options.name = name;
            options.manual = true;
            options.log.file = "/dev/null";
            options.identity.host = name;
            options.spillDirectory = "/tmp";
            options.flushPace = [this] { return disk_.flushTime(); };
            options.failed = [this](const Status&) {
              if (over_) over_();
            };
            return std::move(options);
          }()) {
  time_->setDiskSpace(conditions_.space);
  require(assembly_.open());
  require(assembly_.begin().status());
  disk_.started();
}

NodeLife::~NodeLife() { assembly_.crash(); }

storage::DeterministicDisk NodeLife::kill() {
  storage::DeterministicDisk left = disk_.afterCrash();
  if (!conditions_.losesRowOf.empty() && loseRow(left, conditions_.losesRowOf, time_->random()))
    conditions_.losesRowOf.clear();
  assembly_.crash();
  disk_.engine().crash();
  return left;
}

}  // namespace troupe::sim
