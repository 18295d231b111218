#include "storage/engine/wiredtiger_tables.hpp"

#include <algorithm>
#include <map>

namespace troupe::storage {
namespace {

constexpr std::string_view kTablePrefix = "table:";

/// The metadata entries of all tables and files.
Status readAll(WiredTigerConnection& connection, std::map<std::string, std::string>& entries) {
  ScopedWtSession session(connection);
  TROUPE_TRY(session.status());
  WT_CURSOR* cursor = nullptr;
  TROUPE_TRY(connection.status(session->open_cursor(session.get(), "metadata:", nullptr, nullptr, &cursor),
                               "read the engine's metadata"));
  int code = 0;
  while ((code = cursor->next(cursor)) == 0) {
    const char* key = nullptr;
    const char* value = nullptr;
    if ((code = cursor->get_key(cursor, &key)) != 0 || (code = cursor->get_value(cursor, &value)) != 0) break;
    entries.emplace(key, value);
  }
  cursor->close(cursor);
  return code == WT_NOTFOUND ? Status::OK() : connection.status(code, "read the engine's metadata");
}

}  // namespace

std::string tableUri(std::string_view ident) { return std::string(kTablePrefix).append(ident); }

std::string fileUri(std::string_view ident) { return std::string("file:").append(ident).append(".wt"); }

std::string tableConfig(const TableOptions& options) {
  std::string config =
      "key_format=u,value_format=u,exclusive=true,allocation_size=512,memory_page_max=10m,split_pct=90,"
      "leaf_value_max=64MB,checksum=on,block_compressor=" +
      options.blockCompressor;
  config += options.logged ? ",log=(enabled=true)" : ",log=(enabled=false)";
  if (!options.appMetadata.empty()) config += ",app_metadata=(" + options.appMetadata + ")";
  return config;
}

std::optional<std::string> configValue(const std::string& config, std::string_view key) {
  WT_CONFIG_PARSER* parser = nullptr;
  if (wiredtiger_config_parser_open(nullptr, config.c_str(), config.size(), &parser) != 0) return std::nullopt;
  WT_CONFIG_ITEM item{};
  std::optional<std::string> value;
  if (parser->get(parser, std::string(key).c_str(), &item) == 0) value.emplace(item.str, item.len);
  parser->close(parser);
  if (value && value->size() >= 2 && value->front() == '(' && value->back() == ')')
    value = value->substr(1, value->size() - 2);
  return value;
}

int64_t configNumber(const std::string& config, std::string_view key) {
  WT_CONFIG_PARSER* parser = nullptr;
  if (wiredtiger_config_parser_open(nullptr, config.c_str(), config.size(), &parser) != 0) return 0;
  WT_CONFIG_ITEM item{};
  const int64_t value = parser->get(parser, std::string(key).c_str(), &item) == 0 ? item.val : 0;
  parser->close(parser);
  return value;
}

int readMetadata(WT_SESSION* session, const std::string& uri, std::string& config) {
  WT_CURSOR* cursor = nullptr;
  config.clear();
  int code = session->open_cursor(session, "metadata:", nullptr, nullptr, &cursor);
  if (code != 0) return code;
  const char* found = nullptr;
  cursor->set_key(cursor, uri.c_str());
  code = cursor->search(cursor);
  if (code == 0) code = cursor->get_value(cursor, &found);
  if (code == 0) config = found;
  cursor->close(cursor);
  return code;
}

StatusWith<std::vector<DescribedTable>> describeTables(WiredTigerConnection& connection) {
  std::map<std::string, std::string> entries;
  TROUPE_TRY(readAll(connection, entries));
  std::vector<DescribedTable> tables;
  for (const auto& [uri, config] : entries) {
    if (!uri.starts_with(kTablePrefix)) continue;
    DescribedTable table;
    table.ident = uri.substr(kTablePrefix.size());
    table.options.appMetadata = configValue(config, "app_metadata").value_or("");
    const auto file = entries.find(fileUri(table.ident));
    table.whole = file != entries.end();
    table.checksummed = !table.whole || configValue(file->second, "checksum") == "on";
    if (table.whole) {
      table.options.logged = configValue(file->second, "log.enabled") != "false";
      const std::string compressor = configValue(file->second, "block_compressor").value_or("");
      table.options.blockCompressor = compressor.empty() ? "none" : compressor;
    }
    tables.push_back(std::move(table));
  }
  std::sort(tables.begin(), tables.end(), [](const auto& a, const auto& b) { return a.ident < b.ident; });
  return tables;
}

}  // namespace troupe::storage
