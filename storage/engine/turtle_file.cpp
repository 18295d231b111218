#include "storage/engine/turtle_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "storage/engine/wiredtiger_tables.hpp"

namespace troupe::storage {
namespace {

namespace files = std::filesystem;

/// Before the config of the metadata's own file, which is the line behind it.
constexpr std::string_view kMetadataKey = "file:WiredTiger.wt";

Status checkThereAreNoTables(const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : files::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name != "_mdb_catalog.wt" && !(name.starts_with("collection-") && name.ends_with(".wt"))) continue;
    return {ErrorCode::kManualInterventionRequired,
            "the data directory " + directory + " has tables, but the file WiredTiger.turtle, without which they " +
                "cannot be read, is missing; restore a backup or resync from another member"};
  }
  return {};
}

/// What the turtle file says of the metadata's own file; nothing where it does not speak of it.
std::optional<std::string> metadataConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line, config;
  while (line != kMetadataKey && std::getline(file, line)) {
  }
  if (!std::getline(file, config)) return std::nullopt;
  return config;
}

/// Keys and values of metadata are texts.
bool hasTexts(const std::string& config) {
  return configValue(config, "key_format") == "S" && configValue(config, "value_format") == "S";
}

}  // namespace

Status checkTurtleFile(const std::string& directory) {
  const std::string path = directory + "/WiredTiger.turtle";
  std::error_code ignored;
  if (!files::exists(path, ignored))
    return files::exists(path + ".set", ignored) ? Status::OK() : checkThereAreNoTables(directory);
  const auto config = metadataConfig(path);
  if (!config || hasTexts(*config)) return {};  // what else may be wrong the engine refuses itself
  return {ErrorCode::kDataCorruptionDetected,
          "the file " + path + ", which says where the engine's metadata are, is damaged; restore a backup or resync " +
              "from another member"};
}

uint32_t checkpointInLog(const std::string& directory) {
  const auto config = metadataConfig(directory + "/WiredTiger.turtle");
  const std::string place = config ? configValue(*config, "checkpoint_lsn").value_or("") : "";
  return static_cast<uint32_t>(std::strtoul(place.c_str(), nullptr, 10));  // "file,offset"
}

}  // namespace troupe::storage
