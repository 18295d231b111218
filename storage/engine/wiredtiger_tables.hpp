#pragma once
#include <wiredtiger.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/engine.hpp"
#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

// Tables in the words of WiredTiger: their URIs and configuration texts. Internal to the WiredTiger engine. Any thread.

std::string tableUri(std::string_view ident);
std::string fileUri(std::string_view ident);

/// Configuration with which a table is created. Every block has a checksum, also one that is compressed: a flipped bit
/// in compressed bytes often decompresses without an error. allocation_size=512 is what lets the file be imported
/// elsewhere.
std::string tableConfig(const TableOptions& options);

/// Value of a key of a configuration text ("log.enabled" for one within parentheses), without enclosing parentheses;
/// none when the key is missing.
std::optional<std::string> configValue(const std::string& config, std::string_view key);

/// A number in it, with its unit ("4KB") resolved; zero when the key is missing.
int64_t configNumber(const std::string& config, std::string_view key);

/// The entry of the engine's metadata for a URI; empty when there is none. The code is one of WiredTiger's.
int readMetadata(WT_SESSION* session, const std::string& uri, std::string& config);

/// A table as the metadata describe it.
struct DescribedTable {
  std::string ident;
  TableOptions options;
  bool checksummed = false;  ///< all blocks that are written from now on have a checksum
  /// The metadata describe its file. A kill leaves a table without one where it cuts a creation, whose entries are
  /// written before the file is made, or a drop, whose file's entry goes first. No collection has such a table.
  bool whole = false;
};
/// All tables, in the order of their idents. One whose file is not described counts as checksummed.
StatusWith<std::vector<DescribedTable>> describeTables(WiredTigerConnection& connection);

}  // namespace troupe::storage
