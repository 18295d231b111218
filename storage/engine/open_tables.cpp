#include "storage/engine/open_tables.hpp"

#include <filesystem>

namespace troupe::storage {

namespace {
/// How often a list of the open tables is used; making one takes about a microsecond for each descriptor.
constexpr int kUsesOfAList = 100;
}  // namespace

bool OpenTables::hasRoom() {
  if (limit_ == 0 || estimate_.fetch_add(1, std::memory_order_relaxed) < ordinaryLimit_) return true;
  // Most of what was admitted was open before, or has been closed since: the engine is asked.
  const int64_t open = sources_.count();
  estimate_.store(open + 1, std::memory_order_relaxed);
  return open < ordinaryLimit_;
}

Status OpenTables::refusal() {
  refusals_.fetch_add(1, std::memory_order_relaxed);
  return {ErrorCode::kTooManyFilesOpen, "as many tables are open as the limit of open files allows, " +
                                            std::to_string(limit_) +
                                            ": retry when idle ones have been closed, or raise the limit"};
}

Status OpenTables::admitNew() { return hasRoom() ? Status::OK() : refusal(); }

Status OpenTables::admit(const std::string& ident) {
  if (hasRoom()) return Status::OK();
  const std::lock_guard lock(mutex_);
  if (--usesLeft_ < 0 || !idents_.contains(ident)) {
    idents_ = sources_.idents();
    usesLeft_ = kUsesOfAList;
  }
  return idents_.contains(ident) ? Status::OK() : refusal();
}

bool areMostTablesOpen(const EngineStatistics& statistics) {
  return statistics.openTablesLimit > 0 && statistics.openTables * 4 >= statistics.openTablesLimit * 3;
}

std::set<std::string> openTableFiles(const std::string& directory) {
  namespace fs = std::filesystem;
  std::set<std::string> idents;
  std::error_code error;
  const fs::path wanted = fs::weakly_canonical(directory, error);
  for (auto i = fs::directory_iterator("/proc/self/fd", error); !error && i != fs::directory_iterator();
       i.increment(error)) {
    std::error_code gone;
    const fs::path file = fs::read_symlink(i->path(), gone);
    if (!gone && file.extension() == ".wt" && file.parent_path() == wanted) idents.insert(file.stem());
  }
  return idents;
}

}  // namespace troupe::storage
