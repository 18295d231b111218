#include "storage/engine/wiredtiger_backup.hpp"

#include <cerrno>
#include <string_view>

namespace troupe::storage {

Status WiredTigerBackup::open() {
  const int opened = session_->open_cursor(session_, "backup:", nullptr, nullptr, &cursor_);
  if (opened == EINVAL) {
    (void)connection_->status(opened, "");
    return {ErrorCode::kObjectIsBusy, "another backup is being taken; wait for its end"};
  }
  TROUPE_TRY(connection_->status(opened, "begin a backup"));
  files_.push_back(connection_->options().path + "/troupe.format");
  return list(cursor_, files_);
}

Status WiredTigerBackup::list(WT_CURSOR* cursor, std::vector<std::string>& files) {
  int code = 0;
  while ((code = cursor->next(cursor)) == 0) {
    const char* name = nullptr;
    TROUPE_TRY(connection_->status(cursor->get_key(cursor, &name), "list a backup"));
    const bool isLog = std::string_view(name).starts_with("WiredTigerLog.");
    files.push_back(connection_->options().path + (isLog ? "/journal/" : "/") + name);
  }
  return code == WT_NOTFOUND ? Status::OK() : connection_->status(code, "list a backup");
}

StatusWith<std::vector<std::string>> WiredTigerBackup::logFiles() {
  std::vector<std::string> files;
  if (!connection_->options().journalEnabled) return files;
  WT_CURSOR* logs = nullptr;
  const int code = session_->open_cursor(session_, nullptr, cursor_, "target=(\"log:\")", &logs);
  TROUPE_TRY(connection_->status(code, "list the log files of a backup"));
  const Status listed = list(logs, files);
  logs->close(logs);
  TROUPE_TRY(listed);
  return files;
}

}  // namespace troupe::storage
