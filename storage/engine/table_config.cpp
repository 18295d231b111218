#include "storage/engine/table_config.hpp"

#include <wiredtiger.h>

#include <string>

namespace troupe::storage {

Status checkTableConfig(std::string_view config) {
  if (config.find('\0') != std::string_view::npos)
    return {ErrorCode::kFailedToParse, "'configString' must not have a NUL byte"};
  const std::string text(config);
  const int code = wiredtiger_config_validate(nullptr, nullptr, "WT_SESSION.create", text.c_str());
  if (code == 0) return Status::OK();
  return {ErrorCode::kBadValue, "'configString' is not a configuration of a WiredTiger table: " + text};
}

}  // namespace troupe::storage
