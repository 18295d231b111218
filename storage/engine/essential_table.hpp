#pragma once
#include <string_view>

#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// Opens or creates a table of the node's own, without which it cannot serve (Table::essential). `options` are for its
/// creation. *Blocks.* Errors: those of Engine::openTable and createTable.
StatusWith<Table> openEssentialTable(Engine& engine, std::string_view ident, TableOptions options = {});

}  // namespace troupe::storage
