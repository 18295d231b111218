#include "storage/engine/log_files.hpp"

#include <wiredtiger.h>

#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "storage/engine/data_directory.hpp"
#include "storage/engine/turtle_file.hpp"

namespace troupe::storage {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kPrefix = "WiredTigerLog.";
constexpr size_t kChecksumAt = 4;
constexpr size_t kFlagsAt = 8;  ///< two bytes, and two that are not used
constexpr uint32_t kMostFlags = 3;
constexpr size_t kMostSummed = size_t{1} << 30;  ///< bytes of what looks like records, in one search
constexpr size_t kSector = 512;

bool isZero(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

uint32_t numberIn(std::string_view bytes, size_t at) {
  return boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(bytes.data()) + at);
}

void putNumber(std::string& bytes, size_t at, uint32_t number) {
  boost::endian::store_little_u32(reinterpret_cast<unsigned char*>(bytes.data()) + at, number);
}

/// Of a whole record, which is changed.
uint32_t checksumOf(std::string& record) {
  static const auto crc32c = wiredtiger_crc32c_func();
  putNumber(record, kChecksumAt, 0);
  return crc32c(record.data(), record.size());
}

constexpr size_t roundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// The number at the end of its name.
uint32_t numberOf(const std::string& path) {
  const size_t at = path.rfind('.') + 1;
  return static_cast<uint32_t>(std::strtoul(path.c_str() + at, nullptr, 10));
}

/// Whether records may end at `end` although others follow, in this file or in another one: what should be there was
/// not written, or in part.
bool mayEnd(const LogFile& file, size_t end) {
  const size_t left = file.bytes().size() - end;
  if (left < LogFile::kHeaderBytes || isZero(file.bytes().substr(end))) return true;
  const size_t length = std::max<size_t>(numberIn(file.bytes(), end), LogFile::kUnit);
  if (length <= left && file.isUnwritten(end, end + length)) return true;
  const size_t next = file.nextRecord(end);
  return next != LogFile::kNone && file.isUnwritten(end, next);
}

Status damaged(const std::string& path, size_t at) {
  return {ErrorCode::kDataCorruptionDetected,
          "the log is damaged, and what follows holds acknowledged writes: " + path + " at byte " + std::to_string(at) +
              "; restore a backup, resync from another member, or start with --repair, which gives up what follows"};
}

}  // namespace

StatusWith<LogFile> LogFile::read(const std::string& path) {
  std::error_code error;
  const auto size = files::file_size(path, error);
  if (error) return systemError(error.value(), "cannot read", path);
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) return systemError(errno, "cannot read", path);
  return LogFile(std::move(bytes));
}

size_t LogFile::recordAt(size_t at) const {
  if (at + kHeaderBytes > bytes_.size()) return 0;
  const size_t length = numberIn(bytes_, at);
  if (length < kHeaderBytes || length > bytes_.size() - at) return 0;
  std::string record = bytes_.substr(at, length);
  const uint32_t checksum = numberIn(record, kChecksumAt);
  return checksumOf(record) == checksum ? roundUp(length, kUnit) : 0;
}

size_t LogFile::endOfRecords(size_t at) const {
  while (const size_t length = recordAt(at)) at += length;
  return std::min(at, bytes_.size());
}

/// Lengths are multiples of 128, only two flags exist, and a part of the header is not used. What looks like a header
/// in documents would cost a checksum each, so there is a bound.
size_t LogFile::nextRecord(size_t at) const {
  size_t summed = 0;
  for (at = roundUp(at, kUnit); at + kHeaderBytes <= bytes_.size() && summed < kMostSummed; at += kUnit) {
    const size_t length = numberIn(bytes_, at);
    if (length % kUnit != 0 || length > bytes_.size() - at || numberIn(bytes_, at + kFlagsAt) > kMostFlags) continue;
    if (recordAt(at) > 0) return at;
    summed += length;
  }
  return kNone;
}

bool LogFile::isUnwritten(size_t from, size_t to) const {
  const std::string_view bytes = bytes_;
  if (isZero(bytes.substr(from, std::min(kUnit, to - from)))) return true;
  for (size_t sector = from / kSector * kSector; sector < to; sector += kSector) {
    const size_t begin = std::max(from, sector), end = std::min(to, sector + kSector);
    if (end - begin >= kUnit && isZero(bytes.substr(begin, end - begin))) return true;
  }
  return false;
}

std::string LogFile::makeRecord(const std::string& body) {
  std::string record = std::string(kHeaderBytes, '\0') + body;
  record.resize(roundUp(record.size(), kUnit));
  putNumber(record, 0, static_cast<uint32_t>(record.size()));
  putNumber(record, kChecksumAt, checksumOf(record));
  return record;
}

std::vector<std::string> logFiles(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : files::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(kPrefix)) found.push_back(entry.path().string());
  std::ranges::sort(found);
  return found;
}

/// The recovery begins at the checkpoint that the turtle file names, or at an older one of which a record behind it
/// tells. So the file before is read too.
Status checkLog(const WiredTigerOptions& options) {
  const uint32_t checkpoint = checkpointInLog(options.path);
  std::vector<std::string> paths = logFiles(options.path + "/journal");
  std::erase_if(paths, [&](const std::string& path) { return numberOf(path) + 1 < checkpoint; });
  for (size_t i = 0; i < paths.size(); ++i) {
    TROUPE_ASSIGN(const LogFile file, LogFile::read(paths[i]));
    const size_t end = file.endOfRecords(0);
    const bool goesOn = i + 1 < paths.size() || file.nextRecord(end) != LogFile::kNone;
    if (goesOn && !mayEnd(file, end)) return damaged(paths[i], end);
    if (file.nextRecord(end) != LogFile::kNone) return {};  // the engine ends here
  }
  return {};
}

}  // namespace troupe::storage
