#include "storage/engine/wiredtiger_adoption.hpp"

#include <filesystem>
#include <fstream>

#include "storage/engine/block_format.hpp"
#include "storage/engine/data_directory.hpp"
#include "storage/engine/wiredtiger_tables.hpp"

namespace troupe::storage {
namespace {

namespace files = std::filesystem;

class Adoption {
 public:
  Adoption(WiredTigerConnection& connection, std::string_view ident)
      : connection_(connection), session_(connection), ident_(ident) {
    const std::string file = connection.options().path + "/" + ident_ + ".wt";
    original_ = file;
    kept_ = file + ".kept";
  }

  Status run(const std::string& tableConfig);

 private:
  static constexpr size_t kUnit = 512;  ///< the allocation size of all tables
  static std::string compressorOf(std::ifstream& file);
  Status check(int code, const char* what) { return connection_.status(code, std::string(what) + " " + ident_); }
  Status keep();
  Status describe(const std::string& tableConfig, const std::string& compressor);
  Status replaceFile();

  WiredTigerConnection& connection_;
  ScopedWtSession session_;
  const std::string ident_;
  files::path original_, kept_;
};

/// Until the checkpoint the file has a second name, under which the engine does not remove it.
Status Adoption::run(const std::string& tableConfig) {
  TROUPE_TRY(session_.status());
  TROUPE_TRY(keep());
  std::ifstream file(kept_, std::ios::binary);
  std::string header(kUnit, '\0');
  if (!file.read(header.data(), kUnit) || !checkFileHeader(header).isOK())
    return {ErrorCode::kNoSuchKey, "the file of the table " + ident_ + " is none of the engine's"};
  TROUPE_TRY(describe(tableConfig, compressorOf(file)));
  TROUPE_TRY(replaceFile());
  TROUPE_TRY(check(session_->salvage(session_.get(), tableUri(ident_).c_str(), "force=true"), "salvage"));
  TROUPE_TRY(check(session_->checkpoint(session_.get(), nullptr), "write"));
  std::error_code error;
  files::remove(kept_, error);
  return error ? systemError(error.value(), "cannot remove", kept_.string()) : Status::OK();
}

/// The name of the compressor that wrote the file's first compressed block. Where there is none, any will do.
std::string Adoption::compressorOf(std::ifstream& file) {
  constexpr int kMostUnits = 128 * 1024;  // small blocks are not compressed, so it may not be the first
  std::string unit(kUnit, '\0');
  for (int i = 0; i < kMostUnits && file.read(unit.data(), kUnit); ++i)
    if (const auto compression = compressionOf(unit))
      return *compression == BlockCompression::kZlib ? "zlib" : "snappy";
  return "snappy";
}

/// A kill may have left the file under its second name only.
Status Adoption::keep() {
  std::error_code error;
  if (files::exists(kept_, error)) return Status::OK();
  files::rename(original_, kept_, error);
  if (error == std::errc::no_such_file_or_directory)
    return {ErrorCode::kNoSuchKey, "the table " + ident_ + " has no file"};
  if (error) return systemError(error.value(), "cannot rename", original_.string());
  syncDirectory(connection_.options().path);
  return Status::OK();
}

Status Adoption::describe(const std::string& tableConfig, const std::string& compressor) {
  TROUPE_TRY(check(session_->drop(session_.get(), tableUri(ident_).c_str(), "force=true"), "drop what is left of"));
  TableOptions options;
  options.blockCompressor = compressor;
  options.appMetadata = configValue(tableConfig, "app_metadata").value_or("");
  return check(session_->create(session_.get(), tableUri(ident_).c_str(), storage::tableConfig(options).c_str()),
               "describe");
}

Status Adoption::replaceFile() {
  const files::path link = original_.string() + ".link";
  std::error_code error;
  files::remove(link, error);
  files::create_hard_link(kept_, link, error);
  if (!error) files::rename(link, original_, error);
  if (error) return systemError(error.value(), "cannot replace", original_.string());
  syncDirectory(connection_.options().path);
  return Status::OK();
}

}  // namespace

Status adoptTableFile(WiredTigerConnection& connection, std::string_view ident, const std::string& tableConfig) {
  return Adoption(connection, ident).run(tableConfig);
}

}  // namespace troupe::storage
