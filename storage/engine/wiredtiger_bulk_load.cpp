#include "storage/engine/wiredtiger_bulk_load.hpp"

#include <cerrno>
#include <utility>

#include "storage/engine/wiredtiger_tables.hpp"

namespace troupe::storage {

StatusWith<std::unique_ptr<BulkLoad>> WiredTigerBulkLoad::begin(std::shared_ptr<WiredTigerConnection> connection,
                                                                const Table& table) {
  if (!table.essential) TROUPE_TRY(connection->openTables().admit(table.ident));
  std::unique_ptr<WiredTigerBulkLoad> load(new WiredTigerBulkLoad(std::move(connection), table.ident));
  TROUPE_TRY(load->session_.status());
  WT_SESSION* const session = load->session_.get();
  const int code = session->open_cursor(session, tableUri(table.ident).c_str(), nullptr, "bulk", &load->cursor_);
  if (code == EINVAL) return Status(ErrorCode::kIllegalOperation, "the table is not empty: " + table.ident);
  TROUPE_TRY(load->connection_->status(code, "fill " + table.ident));
  return std::unique_ptr<BulkLoad>(std::move(load));
}

WiredTigerBulkLoad::~WiredTigerBulkLoad() {
  if (cursor_) (void)cursor_->close(cursor_);
}

Status WiredTigerBulkLoad::add(std::string_view key, std::string_view value) {
  WT_ITEM keyItem{}, valueItem{};
  keyItem.data = key.data();
  keyItem.size = key.size();
  valueItem.data = value.data();
  valueItem.size = value.size();
  cursor_->set_key(cursor_, &keyItem);
  cursor_->set_value(cursor_, &valueItem);
  const int code = cursor_->insert(cursor_);
  if (code == 0) [[likely]]
    return {};
  if (code == EINVAL) return {ErrorCode::kBadValue, "rows are filled in the order of their keys: " + ident_};
  return connection_->status(code, "fill " + ident_);
}

Status WiredTigerBulkLoad::finish() {
  WT_CURSOR* const cursor = std::exchange(cursor_, nullptr);
  return connection_->status(cursor->close(cursor), "fill " + ident_);
}

}  // namespace troupe::storage
