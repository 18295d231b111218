#include "storage/engine/ident.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace troupe::storage {

Status checkIdent(std::string_view ident) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; };
  if (ident.empty() || ident.size() > 200 || ident.front() == '.' || !std::all_of(ident.begin(), ident.end(), plain)) {
    return {ErrorCode::kBadValue, "not a table ident: '" + std::string(ident) + "'"};
  }
  return {};
}

Status checkTableOptions(const TableOptions& options) {
  const std::string& compressor = options.blockCompressor;
  if (compressor != "none" && compressor != "snappy" && compressor != "zlib") {
    return {ErrorCode::kBadValue, "unknown block compressor '" + compressor + "'; choose none, snappy or zlib"};
  }
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("_-.,=").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!std::all_of(options.appMetadata.begin(), options.appMetadata.end(), plain)) {
    return {ErrorCode::kBadValue, "table metadata may hold letters, digits and _-.,= only"};
  }
  return {};
}

}  // namespace troupe::storage
