#include "storage/engine/essential_table.hpp"

namespace troupe::storage {

StatusWith<Table> openEssentialTable(Engine& engine, std::string_view ident, TableOptions options) {
  options.essential = true;
  auto table = engine.openTable(ident);
  if (table.status() == ErrorCode::kNoSuchKey) table = engine.createTable(ident, options);
  if (table.isOK()) table->essential = true;
  return table;
}

}  // namespace troupe::storage
