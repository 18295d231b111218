#pragma once
#include <span>
#include <string_view>

namespace troupe::supervisors {

/// A file of the admin page, as it lies in the program.
struct Asset {
  std::string_view name;  ///< "index.html"
  std::string_view contentType;
  std::string_view etag;  ///< quoted; changes with the content
  std::string_view bytes;
};

/// All files of supervisors/admin/web, embedded when the program was built.
std::span<const Asset> webAssets();

/// The file for a path of a request ("/" is the page itself); null if there is none.
const Asset* findAsset(std::string_view path);

}  // namespace troupe::supervisors
