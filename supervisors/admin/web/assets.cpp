#include "supervisors/admin/web/assets.hpp"

namespace troupe::supervisors {

const Asset* findAsset(std::string_view path) {
  if (path.empty() || path.front() != '/') return nullptr;
  const std::string_view name = path == "/" ? "index.html" : path.substr(1);
  for (const Asset& asset : webAssets())
    if (asset.name == name) return &asset;
  return nullptr;
}

}  // namespace troupe::supervisors
