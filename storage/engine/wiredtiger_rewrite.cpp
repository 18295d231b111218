#include "storage/engine/wiredtiger_rewrite.hpp"

#include <algorithm>
#include <string>
#include <vector>

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

 private:
  Status finishInterrupted(const std::vector<DescribedTable>& tables);
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
  TROUPE_TRY(finishInterrupted(tables));
  TROUPE_ASSIGN(tables, describeTables(connection_));
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
Status Rewriting::finishInterrupted(const std::vector<DescribedTable>& tables) {
  const auto exists = [&](std::string_view ident) {
    return std::any_of(tables.begin(), tables.end(), [&](const auto& table) { return table.ident == ident; });
  };
  for (const DescribedTable& table : tables) {
    if (!table.ident.starts_with(kCopyPrefix)) continue;
    const std::string original = table.ident.substr(kCopyPrefix.size());
    TROUPE_TRY(exists(original) ? drop(table.ident) : rename(table.ident, original));
  }
  return {};
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

StatusWith<RewriteReport> rewriteWithChecksums(WiredTigerConnection& connection) {
  RewriteReport report;
  TROUPE_TRY(Rewriting(connection).run(report));
  return report;
}

}  // namespace troupe::storage
