#include "storage/engine/wiredtiger_rewrite.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/engine/data_directory.hpp"
#include "storage/engine/wiredtiger_tables.hpp"

namespace troupe::storage {
namespace {

constexpr std::string_view kCopyPrefix = "rewritten-";
/// Bytes of rows, and tables, after which the copies made so far take the place of their originals: a checkpoint costs
/// tens of milliseconds, so small tables share one.
constexpr int64_t kGroupBytes = int64_t{256} << 20;
constexpr size_t kGroupTables = 200;

std::string copyOf(std::string_view ident) { return std::string(kCopyPrefix).append(ident); }

/// Closes the cursor on all ways out.
struct OpenCursor {
  WT_CURSOR* cursor = nullptr;
  ~OpenCursor() {
    if (cursor) (void)cursor->close(cursor);
  }
  int close() {
    const int code = cursor->close(cursor);
    cursor = nullptr;
    return code;
  }
};

class Rewriting {
 public:
  explicit Rewriting(WiredTigerConnection& connection) : connection_(connection), session_(connection) {}

  Status run(RewriteReport& report);
  Status finishInterrupted();

 private:
  Status replace(const std::string& original);
  std::filesystem::path fileOf(const std::string& ident) const {
    return std::filesystem::path(connection_.options().path) / (ident + ".wt");
  }
  Status copy(const DescribedTable& table, RewriteReport& report);
  Status copyRows(WT_CURSOR* from, WT_CURSOR* to, RewriteReport& report);
  Status replaceOriginals();
  Status drop(const std::string& ident);
  Status rename(const std::string& from, const std::string& to);
  Status check(int code, const char* what, std::string_view ident) {
    return connection_.status(code, std::string(what).append(" ").append(ident));
  }

  WiredTigerConnection& connection_;
  ScopedWtSession session_;
  std::vector<std::string> copied_;  ///< tables whose copies are complete, but may not be durable yet
  int64_t bytes_ = 0;                ///< of these
};

Status Rewriting::run(RewriteReport& report) {
  TROUPE_TRY(session_.status());
  TROUPE_ASSIGN(std::vector<DescribedTable> tables, describeTables(connection_));
  std::erase_if(tables, [](const DescribedTable& table) { return table.checksummed; });
  if (tables.empty()) return {};
  if (connection_.options().onMessage)
    connection_.options().onMessage(
        WiredTigerOptions::Level::kNotice,
        "Tables are written anew, so that each of their blocks has a checksum: " + std::to_string(tables.size()));
  for (const DescribedTable& table : tables) {
    TROUPE_TRY(copy(table, report));
    if (bytes_ >= kGroupBytes || copied_.size() >= kGroupTables) TROUPE_TRY(replaceOriginals());
  }
  return replaceOriginals();
}

/// A copy beside its original may be incomplete. One without an original is complete: the original goes after a
/// checkpoint that holds the copy.
Status Rewriting::finishInterrupted() {
  TROUPE_TRY(session_.status());
  TROUPE_ASSIGN(const std::vector<DescribedTable> tables, describeTables(connection_));
  for (const DescribedTable& table : tables) {
    if (!table.ident.starts_with(kCopyPrefix)) continue;
    const std::string ident = table.ident.substr(kCopyPrefix.size());
    const auto original = std::ranges::find(tables, ident, &DescribedTable::ident);
    if (original == tables.end()) {
      TROUPE_TRY(replace(ident));
      continue;
    }
    // A kill cut the drop of the original, which goes after a checkpoint that holds the copy.
    if (!original->whole && table.whole) {
      TROUPE_TRY(drop(ident));
      TROUPE_TRY(replace(ident));
      continue;
    }
    // Originals are those without checksums: here a table was made after the original had gone.
    if (original->checksummed)
      return {ErrorCode::kManualInterventionRequired,
              "there are two tables for " + ident + ", and it is not known which is complete; restore a backup or " +
                  "resync from another member, or keep a copy of the directory and drop " + fileUri(table.ident)};
    TROUPE_TRY(drop(table.ident));
  }
  return {};
}

/// The copy takes the place of an original that the metadata do not know any more. WiredTiger removes the file of a
/// dropped table after its metadata, and renames a file before them: a kill in between leaves a file that would be in
/// the way, or the copy's under the other name.
Status Rewriting::replace(const std::string& original) {
  const std::string copy = copyOf(original);
  std::error_code error;
  if (std::filesystem::exists(fileOf(original), error)) {
    if (std::filesystem::exists(fileOf(copy), error)) std::filesystem::remove(fileOf(original), error);
    else std::filesystem::rename(fileOf(original), fileOf(copy), error);
  }
  if (error) return systemError(error.value(), "cannot remove or rename", fileOf(original).string());
  syncDirectory(connection_.options().path);
  return rename(copy, original);
}

Status Rewriting::copy(const DescribedTable& table, RewriteReport& report) {
  const std::string copy = copyOf(table.ident);
  TROUPE_TRY(check(session_->create(session_.get(), tableUri(copy).c_str(), tableConfig(table.options).c_str()),
                   "create", copy));
  OpenCursor from, to;
  TROUPE_TRY(check(session_->open_cursor(session_.get(), tableUri(table.ident).c_str(), nullptr, nullptr, &from.cursor),
                   "open", table.ident));
  TROUPE_TRY(
      check(session_->open_cursor(session_.get(), tableUri(copy).c_str(), nullptr, "bulk", &to.cursor), "open", copy));
  TROUPE_TRY(copyRows(from.cursor, to.cursor, report).withContext("write " + table.ident + " anew"));
  TROUPE_TRY(check(to.close(), "close", copy));
  ++report.tables;
  copied_.push_back(table.ident);
  return {};
}

Status Rewriting::copyRows(WT_CURSOR* from, WT_CURSOR* to, RewriteReport& report) {
  int code = 0;
  while ((code = from->next(from)) == 0) {
    WT_ITEM key{}, value{};
    if ((code = from->get_key(from, &key)) != 0 || (code = from->get_value(from, &value)) != 0) break;
    to->set_key(to, &key);
    to->set_value(to, &value);
    if ((code = to->insert(to)) != 0) break;
    ++report.rows;
    bytes_ += static_cast<int64_t>(key.size + value.size);
  }
  return code == WT_NOTFOUND ? Status::OK() : connection_.status(code, "copy rows");
}

/// The checkpoint comes first: from then on the copies are complete whatever happens.
Status Rewriting::replaceOriginals() {
  if (copied_.empty()) return {};
  TROUPE_TRY(check(session_->checkpoint(session_.get(), "use_timestamp=true"), "checkpoint", "rewritten tables"));
  for (const std::string& ident : copied_) {
    TROUPE_TRY(drop(ident));
    TROUPE_TRY(rename(copyOf(ident), ident));
  }
  copied_.clear();
  bytes_ = 0;
  return check(session_->checkpoint(session_.get(), "use_timestamp=true"), "checkpoint", "rewritten tables");
}

Status Rewriting::drop(const std::string& ident) {
  return check(session_->drop(session_.get(), tableUri(ident).c_str(), "force=true"), "drop", ident);
}

Status Rewriting::rename(const std::string& from, const std::string& to) {
  return check(session_->rename(session_.get(), tableUri(from).c_str(), tableUri(to).c_str(), nullptr), "rename", from);
}

}  // namespace

Status finishInterruptedRewrite(WiredTigerConnection& connection) { return Rewriting(connection).finishInterrupted(); }

StatusWith<RewriteReport> rewriteWithChecksums(WiredTigerConnection& connection) {
  RewriteReport report;
  TROUPE_TRY(Rewriting(connection).run(report));
  return report;
}

}  // namespace troupe::storage
