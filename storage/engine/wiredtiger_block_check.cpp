#include "storage/engine/wiredtiger_block_check.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "storage/engine/data_directory.hpp"
#include "storage/engine/wiredtiger_tables.hpp"

namespace troupe::storage {
namespace {

/// Offsets, sizes and memory of direct reads are multiples of the disk's sectors, which are at most so large.
constexpr int64_t kAlignment = 4096;

/// The newest checkpoint's address in the metadata of a file; empty when it has none, or holds nothing.
std::string newestCheckpoint(const std::string& config) {
  const std::string checkpoints = configValue(config, "checkpoint").value_or("");
  WT_CONFIG_PARSER* parser = nullptr;
  if (wiredtiger_config_parser_open(nullptr, checkpoints.c_str(), checkpoints.size(), &parser) != 0) return {};
  std::string newest;
  int64_t newestOrder = 0;
  WT_CONFIG_ITEM key{}, value{};
  while (parser->next(parser, &key, &value) == 0) {
    const std::string entry(value.str, value.len);
    const int64_t order = configNumber(entry, "order");
    if (order < newestOrder) continue;
    newestOrder = order;
    newest = configValue(entry, "addr").value_or("");
  }
  parser->close(parser);
  return newest;
}

BlockCompression compressionOf(const std::string& config) {
  const std::string name = configValue(config, "block_compressor").value_or("");
  if (name == "snappy") return BlockCompression::kSnappy;
  return name == "zlib" ? BlockCompression::kZlib : BlockCompression::kNone;
}

}  // namespace

DirectFile::~DirectFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status DirectFile::open(const std::string& path) {
  path_ = path;
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (fd_ < 0 && errno == EINVAL) {
    direct_ = false;
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  return fd_ < 0 ? systemError(errno, "cannot open", path) : Status::OK();
}

StatusWith<std::string> DirectFile::read(int64_t offset, int64_t size) {
  const int64_t from = offset / kAlignment * kAlignment;
  const int64_t to = (offset + size + kAlignment - 1) / kAlignment * kAlignment;
  const auto wanted = static_cast<size_t>(to - from);
  if (wanted > capacity_) {
    buffer_ = {static_cast<char*>(std::aligned_alloc(kAlignment, wanted)), &std::free};
    capacity_ = buffer_ ? wanted : 0;
    if (!buffer_) return Status(ErrorCode::kExceededMemoryLimit, "no memory for a block of " + path_);
  }
  size_t got = 0;
  while (got < wanted) {
    const ssize_t n = ::pread(fd_, buffer_.get() + got, wanted - got, from + static_cast<int64_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EINVAL && direct_) {  // a file system that says so late, or a file that ends off the grid
      direct_ = false;
      (void)::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_DIRECT);
      continue;
    }
    if (n < 0 && errno == EIO)  // the disk cannot give the sector back
      return Status(ErrorCode::kDataCorruptionDetected, systemError(errno, "cannot read", path_).reason());
    if (n < 0) return systemError(errno, "cannot read", path_);
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  if (!direct_) (void)::posix_fadvise(fd_, from, to - from, POSIX_FADV_DONTNEED);
  const auto skipped = static_cast<size_t>(offset - from);
  if (got <= skipped) return std::string();
  return std::string(buffer_.get() + skipped, std::min(got - skipped, static_cast<size_t>(size)));
}

WiredTigerBlockCheck::WiredTigerBlockCheck(std::shared_ptr<WiredTigerConnection> connection, std::string_view ident)
    : connection_(std::move(connection)), ident_(ident) {}

StatusWith<WiredTigerBlockCheck::Source> WiredTigerBlockCheck::loadCheckpoint() {
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  std::string config;
  const int code = readMetadata(session.get(), fileUri(ident_), config);
  if (code == WT_NOTFOUND) return Source::kGone;
  TROUPE_TRY(connection_->status(code, "find the checkpoint of " + ident_));
  const std::string newest = newestCheckpoint(config);
  if (newest == checkpoint_) return newest.empty() ? Source::kGone : Source::kSame;
  checkpoint_ = newest;
  unit_ = configNumber(config, "allocation_size");
  compression_ = compressionOf(config);
  return newest.empty() ? Source::kGone : Source::kNew;
}

Status WiredTigerBlockCheck::describe(const Status& finding) const {
  return {ErrorCode::kDataCorruptionDetected, ident_ + ".wt: the block of " + std::to_string(current_.size) +
                                                  " bytes at " + std::to_string(current_.offset) +
                                                  " is damaged: " + finding.reason()};
}

StatusWith<std::string> WiredTigerBlockCheck::readBlock(const BlockAddress& address) {
  current_ = address;
  TROUPE_ASSIGN(std::string block, file_.read(address.offset, address.size));
  TROUPE_TRY(checkBlock(block, address));
  bytesRead_ += address.size;
  ++blocksRead_;
  return block;
}

StatusWith<std::vector<BlockReference>> WiredTigerBlockCheck::readReferences(const BlockAddress& address) {
  TROUPE_ASSIGN(const std::string block, readBlock(address));
  return referencesOf(block, compression_, unit_);
}

/// Of an internal page only what may hold keys from `reached_` on is entered.
Status WiredTigerBlockCheck::check(const BlockAddress& address, bool enter) {
  if (!enter) return readBlock(address).status();
  Level level;
  TROUPE_ASSIGN(level.references, readReferences(address));
  for (size_t i = 0; i < level.references.size(); ++i) {
    const auto& key = level.references[i].firstKey;
    if (key && *key <= reached_) level.next = i;
  }
  walk_.push_back(std::move(level));
  return {};
}

Status WiredTigerBlockCheck::beginWalk() {
  walk_.clear();
  current_ = {};
  current_.size = unit_;
  TROUPE_ASSIGN(std::string header, file_.read(0, unit_));
  TROUPE_TRY(checkFileHeader(header));
  TROUPE_ASSIGN(const CheckpointAddress checkpoint, decodeCheckpoint(checkpoint_, unit_));
  for (const BlockAddress& extents : checkpoint.extents) TROUPE_TRY(check(extents, false));
  return checkpoint.root.size > 0 ? check(checkpoint.root, true) : Status::OK();
}

Status WiredTigerBlockCheck::nextReference() {
  Level& level = walk_.back();
  if (level.next == level.references.size()) {
    walk_.pop_back();
    return {};
  }
  const BlockReference reference = level.references[level.next++];
  if (reference.firstKey) reached_ = *reference.firstKey;
  return check(reference.address, reference.kind != BlockReference::Kind::kData);
}

Status WiredTigerBlockCheck::open() {
  const Status opened = file_.open(connection_->options().path + "/" + ident_ + ".wt");
  if (opened != ErrorCode::kNonExistentPath) return opened;
  return {ErrorCode::kDataCorruptionDetected, "the file " + ident_ + ".wt is missing"};
}

StatusWith<bool> WiredTigerBlockCheck::step(int64_t bytes) {
  const int64_t end = bytesRead_ + bytes;
  if (!file_.isOpen()) {
    TROUPE_ASSIGN(const Source source, loadCheckpoint());
    if (source == Source::kGone) return true;
    if (const Status opened = open(); !opened.isOK()) {
      TROUPE_ASSIGN(const Source now, loadCheckpoint());
      return now == Source::kGone ? StatusWith<bool>(true) : opened;  // it may have been dropped meanwhile
    }
  }
  while (bytesRead_ < end && !(begun_ && walk_.empty())) {
    const Status status = begun_ ? nextReference() : beginWalk();
    if (status.isOK()) {
      begun_ = true;
      continue;
    }
    if (status != ErrorCode::kDataCorruptionDetected) return status;
    TROUPE_ASSIGN(const Source source, loadCheckpoint());
    if (source == Source::kGone) return true;
    if (source == Source::kSame) return describe(status);
    begun_ = false;
  }
  return begun_ && walk_.empty();
}

}  // namespace troupe::storage
