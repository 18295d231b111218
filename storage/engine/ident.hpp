#pragma once
#include <string_view>

#include "messaging/errors/status.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// BadValue unless the ident is a plain file name: 1 to 200 letters, digits, '_', '-' and '.', not beginning with '.'.
Status checkIdent(std::string_view ident);
/// BadValue for an unknown compressor, or metadata that could not be stored as it is.
Status checkTableOptions(const TableOptions& options);

}  // namespace troupe::storage
