#include "storage/oplog/rollback_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "storage/oplog/oplog_batches.hpp"

namespace troupe::storage {

namespace {

Status fileStatus(const std::string& path, int error) {
  const ErrorCode code = error == ENOSPC || error == EDQUOT ? ErrorCode::kOutOfDiskSpace : ErrorCode::kInternalError;
  return {code, "the rollback file " + path + " cannot be written: " + std::strerror(error)};
}

/// A file or directory that is open; closed at the end.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  Status write(std::string_view bytes) {
    if (fd_ < 0) return fileStatus(path_, errno);
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return fileStatus(path_, errno);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return Status::OK();
  }
  Status sync() { return fd_ >= 0 && ::fsync(fd_) == 0 ? Status::OK() : fileStatus(path_, errno); }

 private:
  const std::string path_;
  const int fd_;
};

Status syncFolder(const std::string& path) { return OpenFile(path, O_RDONLY | O_DIRECTORY).sync(); }

/// Gathers documents by collection and appends them to the collections' files when there are enough.
class FileWriter {
 public:
  explicit FileWriter(const RollbackFileOptions& options) : options_(options) {}

  Status add(const Collection& collection, bson::View document) {
    Held& held = held_[collection.uuid()];
    if (held.file.path.empty()) {
      held.file.ns = collection.ns();
      held.file.path = directoryOf(collection.uuid()) + "/removed." + options_.time + ".bson";
    }
    held.bytes.append(document.bytes());
    ++held.file.documents;
    heldBytes_ += document.bytes().size();
    return heldBytes_ < options_.memoryBytes / 2 ? Status::OK() : writeHeld();
  }

  /// Writes the rest; all of it is on the disk then.
  StatusWith<std::vector<RollbackFiles::File>> finish() {
    TROUPE_TRY(writeHeld());
    std::vector<RollbackFiles::File> files;
    for (auto& [uuid, held] : held_) {
      TROUPE_TRY(OpenFile(held.file.path, O_WRONLY).sync());
      TROUPE_TRY(syncFolder(directoryOf(uuid)));
      files.push_back(std::move(held.file));
    }
    if (files.empty()) return files;
    TROUPE_TRY(syncFolder(options_.directory));
    TROUPE_TRY(syncFolder(std::filesystem::path(options_.directory).parent_path().string()));
    return files;
  }

 private:
  struct Held {
    RollbackFiles::File file;
    std::string bytes;
  };

  std::string directoryOf(const bson::Uuid& uuid) const { return options_.directory + "/" + uuid.toString(); }

  Status writeHeld() {
    for (auto& [uuid, held] : held_) {
      if (held.bytes.empty()) continue;
      std::error_code error;
      std::filesystem::create_directories(directoryOf(uuid), error);
      if (error) return fileStatus(directoryOf(uuid), error.value());
      TROUPE_TRY(OpenFile(held.file.path, O_WRONLY | O_CREAT | O_APPEND).write(held.bytes));
      held.bytes = {};
    }
    heldBytes_ = 0;
    return Status::OK();
  }

  const RollbackFileOptions& options_;
  std::map<bson::Uuid, Held> held_;
  size_t heldBytes_ = 0;
};

/// The documents that have been written, by collection and `_id`: as many as its memory holds, then it begins anew.
class Written {
 public:
  explicit Written(size_t memoryBytes) : memoryBytes_(memoryBytes) {}
  /// False when it is known.
  bool add(const bson::Uuid& collection, const bson::Element& id) {
    constexpr size_t kOfANode = 64;
    std::string key(reinterpret_cast<const char*>(collection.bytes.data()), collection.bytes.size());
    key.push_back(static_cast<char>(id.type()));
    key.append(id.valueBytes());
    if (bytes_ + key.size() + kOfANode > memoryBytes_) {
      keys_.clear();
      bytes_ = 0;
    }
    bytes_ += key.size() + kOfANode;
    return keys_.insert(std::move(key)).second;
  }

 private:
  const size_t memoryBytes_;
  std::set<std::string> keys_;
  size_t bytes_ = 0;
};

bool isUserData(std::string_view ns) {
  const std::string_view db = ns.substr(0, ns.find('.'));
  return db != "local" && db != "config" && db != "admin";
}

/// The `_id` of the document that an operation leaves behind; none for a removal.
bson::Element idLeftBy(const LoggedOperation& operation) {
  if (operation.kind == OplogKind::kInsert) return operation.object["_id"];
  if (operation.kind == OplogKind::kUpdate && operation.other) return (*operation.other)["_id"];
  return {};
}

class Saver {
 public:
  Saver(const Catalog& catalog, const RollbackFileOptions& options)
      : catalog_(catalog), writer_(options), written_(options.memoryBytes / 2) {}

  Status save(RecoveryUnit& unit, const LoggedOperation& operation) {
    if (operation.kind == OplogKind::kCommand || operation.kind == OplogKind::kNoop) return Status::OK();
    if (!operation.uuid || !isUserData(operation.ns)) return Status::OK();
    ++result_.operations;
    const bson::Element id = idLeftBy(operation);
    if (!id.ok()) return Status::OK();
    const CollectionPtr collection = catalog_.snapshot()->find(*operation.uuid);
    if (!collection || !written_.add(*operation.uuid, id)) return Status::OK();
    TROUPE_ASSIGN(const auto record, collection->findById(unit, id));
    if (!record) return Status::OK();  // removed again
    Status added;
    TROUPE_TRY(
        collection->find(unit, *record, [&](bson::View found) { added = writer_.add(*collection, found); }).status());
    if (added.isOK()) ++result_.documents;
    return added;
  }
  StatusWith<RollbackFiles> finish() {
    TROUPE_ASSIGN(result_.files, writer_.finish());
    return std::move(result_);
  }

 private:
  const Catalog& catalog_;
  FileWriter writer_;
  Written written_;
  RollbackFiles result_;
};

}  // namespace

StatusWith<RollbackFiles> saveUndone(const Catalog& catalog, const OplogStore& log, const OperationServices& services,
                                     bson::Timestamp common, const RollbackFileOptions& options) {
  Saver saver(catalog, options);
  OplogBatches reader(log, services, common);
  for (;;) {
    TROUPE_ASSIGN(const auto batch, reader.next());
    if (batch.empty()) return saver.finish();
    OperationContext operation(services);
    for (const bson::Document& document : batch) {
      TROUPE_ASSIGN(const auto entry, OplogEntry::parse(document));
      const auto save = [&](const LoggedOperation& one) { return saver.save(operation.recoveryUnit(), one); };
      TROUPE_TRY(eachOperation(entry.operation, save));
    }
  }
}

std::string rollbackFileTime(int64_t wallMillis) {
  const std::time_t seconds = static_cast<std::time_t>(wallMillis / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H-%M-%S", &parts);
  return std::string(text.data(), size) + "." + std::to_string(wallMillis % 1000);
}

}  // namespace troupe::storage
