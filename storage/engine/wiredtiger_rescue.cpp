#include "storage/engine/wiredtiger_rescue.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <wiredtiger.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "storage/engine/block_format.hpp"
#include "storage/engine/data_directory.hpp"
#include "storage/engine/log_files.hpp"
#include "storage/engine/wiredtiger_tables.hpp"

namespace troupe::storage {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kFilePrefix = "file:";
constexpr std::string_view kTableSuffix = ".wt";
constexpr std::string_view kOwnPrefix = "WiredTiger";  ///< of the engine's own files
constexpr size_t kFileHeaderBytes = 512;               ///< the allocation size of all tables

Status cannotRescue(std::string why) { return {ErrorCode::kDataCorruptionDetected, std::move(why)}; }

std::string journalOf(const WiredTigerOptions& options) { return options.path + "/journal"; }

bool isTableFile(std::string_view name) { return name.ends_with(kTableSuffix) && !name.starts_with(kOwnPrefix); }

std::string identOf(std::string_view name) { return std::string(name.substr(0, name.size() - kTableSuffix.size())); }

/// Whether the system lacks something, which says nothing of what is on the disk.
bool isOfLimit(int code) { return code == ENOSPC || code == EMFILE || code == ENFILE || code == ENOMEM; }

/// A connection without a log: nothing is recovered. What the engine says of damage shows bytes of documents and is
/// dropped; results tell enough.
class LoglessDatabase {
 public:
  LoglessDatabase() {
    silent_.handle_error = [](WT_EVENT_HANDLER*, WT_SESSION*, int, const char*) { return 0; };
    silent_.handle_message = [](WT_EVENT_HANDLER*, WT_SESSION*, const char*) { return 0; };
  }
  ~LoglessDatabase() { (void)close(); }
  LoglessDatabase(const LoglessDatabase&) = delete;
  LoglessDatabase& operator=(const LoglessDatabase&) = delete;

  Status open(const std::string& path, const char* mode) {
    TROUPE_TRY(close());
    const std::string config = std::string(mode) +
                               ",cache_size=64MB,log=(enabled=false),"
                               "extensions=[libwiredtiger_snappy.so,libwiredtiger_zlib.so]";
    int code = wiredtiger_open(path.c_str(), &silent_, config.c_str(), &connection_);
    if (code != 0) connection_ = nullptr;
    if (code == 0) code = connection_->open_session(connection_, nullptr, nullptr, &session_);
    return status(code, "open " + path);
  }
  Status close() {
    if (!connection_) return {};
    WT_CONNECTION* const connection = std::exchange(connection_, nullptr);
    const int code = connection->close(connection, nullptr);
    return code == WT_PANIC ? Status::OK() : status(code, "close");
  }
  WT_SESSION* session() const { return session_; }

  static Status status(int code, const std::string& what) {
    if (code == 0) return {};
    if (isOfLimit(code)) return systemError(code, "cannot", what);
    return cannotRescue("cannot " + what + ": " + wiredtiger_strerror(code));
  }

 private:
  WT_EVENT_HANDLER silent_{};
  WT_CONNECTION* connection_ = nullptr;
  WT_SESSION* session_ = nullptr;
};

/// The last file of the log, to which records are added.
class LogEnd {
 public:
  explicit LogEnd(const std::string& folder) : folder_(folder) {}

  /// Finds the end of its records. Errors: DataCorruptionDetected where it is damaged or there is none.
  Status find();
  /// `body` is a record without its header. Durable.
  Status append(const std::string& body);

 private:
  const std::string folder_;
  std::string path_;
  size_t end_ = 0;
};

Status LogEnd::find() {
  const std::vector<std::string> paths = logFiles(folder_);
  if (paths.empty()) return cannotRescue("there is no log in " + folder_);
  path_ = paths.back();
  TROUPE_ASSIGN(const LogFile file, LogFile::read(path_));
  end_ = file.endOfRecords(0);
  const bool isFilled = file.bytes().find_first_not_of('\0', end_) != std::string_view::npos;
  return isFilled ? cannotRescue("the log is damaged, or has a hole: " + path_) : Status::OK();
}

Status LogEnd::append(const std::string& body) {
  const std::string record = LogFile::makeRecord(body);
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return systemError(errno, "cannot open", path_);
  errno = ENOSPC;  // of a write that ends early
  const ssize_t written = ::pwrite(fd, record.data(), record.size(), static_cast<off_t>(end_));
  const bool done = written == static_cast<ssize_t>(record.size()) && ::fsync(fd) == 0;
  const int failure = errno;
  ::close(fd);
  if (!done) return systemError(failure, "cannot write", path_);
  end_ += record.size();
  return {};
}

class Rescue {
 public:
  Rescue(const WiredTigerOptions& options, const RepairMark& mark)
      : path_(options.path), mark_(mark), scratch_(options.path + "/troupe.rescue"), log_(journalOf(options)) {}
  ~Rescue() {
    std::error_code ignored;
    files::remove_all(scratch_, ignored);
  }

  StatusWith<int> run();

 private:
  /// A table's file; `config` is what the engine's metadata say of it, empty for a file of which only the log knows.
  struct Damaged {
    std::string name;
    std::string config;
  };
  Status readMetadata(WT_SESSION* session);
  Status findDamaged();
  /// Files made since the last checkpoint hold nothing but what the log has, but begin with a header.
  void findDamagedNewFiles();
  Status replace(const Damaged& file);
  /// Makes the file in the scratch directory that takes the place of a damaged one. Returns its checkpoint.
  StatusWith<std::string> salvage(const Damaged& file);
  Status makeEmpty(const Damaged& file);
  Status logChange(const Damaged& file, const std::string& checkpoint);

  const std::string path_;
  const RepairMark& mark_;
  const std::string scratch_;
  LogEnd log_;
  std::map<std::string, std::string> described_;  ///< by name of the file
  std::vector<Damaged> damaged_;
};

StatusWith<int> Rescue::run() {
  TROUPE_TRY(log_.find());
  TROUPE_TRY(findDamaged());
  findDamagedNewFiles();
  for (const Damaged& file : damaged_) TROUPE_TRY(replace(file).withContext("rescue " + file.name));
  return static_cast<int>(damaged_.size());
}

Status Rescue::readMetadata(WT_SESSION* session) {
  WT_CURSOR* cursor = nullptr;
  int code = session->open_cursor(session, "metadata:", nullptr, nullptr, &cursor);
  while (code == 0 && (code = cursor->next(cursor)) == 0) {
    const char* uri = nullptr;
    const char* config = nullptr;
    if ((code = cursor->get_key(cursor, &uri)) != 0 || (code = cursor->get_value(cursor, &config)) != 0) break;
    if (!std::string_view(uri).starts_with(kFilePrefix)) continue;
    const std::string name(std::string_view(uri).substr(kFilePrefix.size()));
    if (isTableFile(name)) described_.emplace(name, config);
  }
  if (cursor) (void)cursor->close(cursor);
  return code == WT_NOTFOUND ? Status::OK() : LoglessDatabase::status(code, "read the metadata");
}

Status Rescue::findDamaged() {
  LoglessDatabase database;
  TROUPE_TRY(database.open(path_, "readonly=true"));
  TROUPE_TRY(readMetadata(database.session()));
  for (const auto& [name, config] : described_) {
    WT_SESSION* const session = database.session();
    const int code = session->verify(session, std::string(kFilePrefix).append(name).c_str(), nullptr);
    if (code == 0) continue;
    if (isOfLimit(code)) return LoglessDatabase::status(code, "verify " + name);
    damaged_.push_back({name, config});
    if (code == WT_PANIC) TROUPE_TRY(database.open(path_, "readonly=true"));
  }
  return database.close();
}

void Rescue::findDamagedNewFiles() {
  std::error_code error;
  for (const auto& entry : files::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    if (!isTableFile(name) || described_.contains(name)) continue;
    std::string header(kFileHeaderBytes, '\0');
    std::ifstream file(entry.path(), std::ios::binary);
    if (!file.read(header.data(), kFileHeaderBytes) || !checkFileHeader(header).isOK()) damaged_.push_back({name, ""});
  }
}

/// The file comes before the record: after a kill in between, the table is found damaged again.
Status Rescue::replace(const Damaged& file) {
  TROUPE_TRY(mark_.add(identOf(file.name)));
  TROUPE_ASSIGN(const std::string checkpoint, salvage(file));
  std::error_code error;
  files::rename(scratch_ + "/" + file.name, path_ + "/" + file.name, error);
  if (error) return systemError(error.value(), "cannot replace", path_ + "/" + file.name);
  syncDirectory(path_);
  return file.config.empty() ? Status::OK() : logChange(file, checkpoint);
}

StatusWith<std::string> Rescue::salvage(const Damaged& file) {
  TROUPE_TRY(makeEmpty(file));
  const std::string uri = std::string(kFilePrefix).append(file.name);
  const std::string original = path_ + "/" + file.name;
  const std::string copy = scratch_ + "/" + file.name;
  std::error_code error;
  const auto bytes = files::file_size(original, error);
  const bool readable = !file.config.empty() && !error && bytes > kFileHeaderBytes;
  if (readable) files::copy_file(original, copy, files::copy_options::overwrite_existing, error);
  if (readable && error) return systemError(error.value(), "cannot copy", original);
  LoglessDatabase database;
  TROUPE_TRY(database.open(scratch_, "readonly=false"));
  WT_SESSION* const session = database.session();
  if (readable)
    TROUPE_TRY(LoglessDatabase::status(session->salvage(session, uri.c_str(), "force=true"), "salvage " + file.name));
  std::string config;
  TROUPE_TRY(LoglessDatabase::status(storage::readMetadata(session, uri, config), "find " + file.name));
  TROUPE_TRY(database.close());
  return configValue(config, "checkpoint").value_or("");
}

Status Rescue::makeEmpty(const Damaged& file) {
  std::error_code error;
  files::remove_all(scratch_, error);
  if (!files::create_directory(scratch_, error)) return systemError(error.value(), "cannot create", scratch_);
  TableOptions options;
  options.blockCompressor = configValue(file.config, "block_compressor").value_or("");
  if (options.blockCompressor.empty()) options.blockCompressor = "none";
  LoglessDatabase database;
  TROUPE_TRY(database.open(scratch_, "create"));
  WT_SESSION* const session = database.session();
  const std::string uri = std::string(kFilePrefix).append(file.name);
  TROUPE_TRY(LoglessDatabase::status(session->create(session, uri.c_str(), tableConfig(options).c_str()),
                                     "make " + file.name));
  return database.close();
}

/// A committed row of the metadata, which are the table with the number 0: the file as it was, but with this
/// checkpoint.
Status Rescue::logChange(const Damaged& file, const std::string& checkpoint) {
  constexpr uint32_t kMetadata = 0;
  constexpr uint64_t kTransaction = 1;  // recovery does not read it
  constexpr const char* kRecordFormat = "Iq";
  constexpr const char* kRowFormat = "IIIuu";
  const std::string before = configValue(file.config, "checkpoint").value_or("");
  const std::string parts[] = {"checkpoint=(" + before + ")", "checkpoint=" + before};
  std::string config = file.config;
  size_t at = config.find(parts[0]);
  const std::string& part = at != std::string::npos ? parts[0] : parts[1];
  if ((at = config.find(part)) == std::string::npos) return cannotRescue("its metadata are not understood");
  config.replace(at, part.size(), checkpoint.empty() ? "checkpoint=" : "checkpoint=(" + checkpoint + ")");

  const std::string uri = std::string(kFilePrefix).append(file.name);
  WT_ITEM key{}, value{};
  key.data = uri.c_str();
  key.size = uri.size() + 1;
  value.data = config.c_str();
  value.size = config.size() + 1;
  LoglessDatabase packer;  // a session is needed to pack, of any database
  TROUPE_TRY(packer.open(scratch_, "readonly=false"));
  WT_SESSION* const session = packer.session();
  size_t head = 0, row = 0, known = 0;
  int code = wiredtiger_struct_size(session, &head, kRecordFormat, WT_LOGREC_COMMIT, kTransaction);
  // The row says how long it is, and how long it is depends on that number's length.
  do {
    known = row;
    if (code == 0)
      code = wiredtiger_struct_size(session, &row, kRowFormat, WT_LOGOP_ROW_PUT, static_cast<uint32_t>(known),
                                    kMetadata, &key, &value);
  } while (code == 0 && row != known);
  std::string body(head + row, '\0');
  if (code == 0)
    code = wiredtiger_struct_pack(session, body.data(), head, kRecordFormat, WT_LOGREC_COMMIT, kTransaction);
  if (code == 0)
    code = wiredtiger_struct_pack(session, body.data() + head, row, kRowFormat, WT_LOGOP_ROW_PUT,
                                  static_cast<uint32_t>(row), kMetadata, &key, &value);
  TROUPE_TRY(LoglessDatabase::status(code, "write a record"));
  TROUPE_TRY(packer.close());
  return log_.append(std::move(body));
}

}  // namespace

StatusWith<int> rescueTablesBeforeRecovery(const WiredTigerOptions& options, const RepairMark& mark) {
  return Rescue(options, mark).run();
}

}  // namespace troupe::storage
