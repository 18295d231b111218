#include "test/simulation/simulated_disk.hpp"

#include <utility>
#include <vector>

namespace troupe::sim {

std::unique_ptr<storage::Engine> SimulatedDisk::open(storage::DeterministicDisk left) {
  auto opened = storage::DeterministicEngine::open(std::move(left));
  engine_ = opened.get();
  engine_->setDiskFault([this](storage::DeterministicEngine::DiskOperation operation) { return before(operation); });
  return opened;
}

/// A lie is a flush whose effect a crash takes back: what was durable before it is kept until a flush is true again.
Status SimulatedDisk::before(storage::DeterministicEngine::DiskOperation operation) {
  if (operation == storage::DeterministicEngine::DiskOperation::kFlushLog) {
    const bool fails = time_.randomShare() < conditions_.failedFlushes;
    if (fails && !isStarting_) return {ErrorCode::kInternalError, "the disk failed to flush"};
    if (conditions_.lyingFlushes > 0 && time_.randomShare() < conditions_.lyingFlushes) {
      if (!beforeLies_) beforeLies_ = engine_->disk();
      return Status::OK();
    }
  }
  beforeLies_.reset();
  return Status::OK();
}

Duration SimulatedDisk::flushTime() {
  const auto range = static_cast<double>((conditions_.mostFlush - conditions_.leastFlush).count());
  Duration takes = conditions_.leastFlush + Duration(static_cast<Duration::rep>(time_.randomShare() * range));
  if (conditions_.stalledUntil > time_.now()) takes += conditions_.stalledUntil - time_.now();
  return takes;
}

storage::DeterministicDisk SimulatedDisk::afterCrash() const { return beforeLies_ ? *beforeLies_ : engine_->disk(); }

bool loseRow(storage::DeterministicDisk& disk, const std::string& prefix, uint64_t chance) {
  std::vector<storage::DeterministicDisk::TableImage*> tables;
  for (auto& [ident, image] : disk.tables)
    if (ident.starts_with(prefix) && !image.rows.empty()) tables.push_back(&image);
  if (tables.empty()) return false;
  auto& rows = tables[chance % tables.size()]->rows;
  rows.erase(std::next(rows.begin(), static_cast<std::ptrdiff_t>(chance / tables.size() % rows.size())));
  return true;
}

}  // namespace troupe::sim
