#pragma once
#include <string>
#include <string_view>

#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

/// Takes up the file of a table whose description the engine's metadata have lost (the row `file:`), while the row
/// `table:` is there. Whatever the file holds is kept: it is salvaged under a new description, and a checkpoint taken.
/// For a repair; may be called again after a kill within it. *Blocks.* `tableConfig`: of the row `table:`. Errors:
/// NoSuchKey (there is no such file, or it is none of the engine's); those of the engine and the system.
Status adoptTableFile(WiredTigerConnection& connection, std::string_view ident, const std::string& tableConfig);

}  // namespace troupe::storage
