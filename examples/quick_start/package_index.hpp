#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::demo {

/// Where this machine knows Debian packages from.
struct PackageIndex {
  std::vector<std::string> files;  ///< apt's lists (perhaps compressed), or dpkg's status file
  bool installedOnly = false;      ///< no lists: only what is installed is known
  int64_t bytes = 0;               ///< an estimate of the uncompressed size; 0: unknown
};

/// Looks in apt's lists, then in dpkg's status file, below `root` ("/" but in tests). Newer suites (security, updates)
/// come first. Errors: FileNotOpen when the machine has neither.
StatusWith<PackageIndex> findPackageIndex(const std::string& root = "/");

/// Gets a document (packageDocument) and the bytes read so far; a failure ends the reading.
using PackageSink = std::function<Status(const bson::Document& package, int64_t bytesRead)>;

/// Reads every package once: of several versions that which comes first. Errors: FileNotOpen, and those of the sink.
Status readPackages(const PackageIndex& index, const PackageSink& sink);

}  // namespace troupe::demo
