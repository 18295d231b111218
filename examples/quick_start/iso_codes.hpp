#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::demo {

/// One list of ISO codes and where it goes.
struct IsoList {
  std::string_view file;  ///< below the folder of Debian's iso-codes
  std::string_view collection;
  std::string_view idField;  ///< the code that becomes `_id`
};
/// Countries, their parts, currencies, languages, scripts.
const std::vector<IsoList>& isoLists();

/// Reads a list: documents as the file has them, with `_id` in front. Country parts also get `country`. Errors:
/// FileNotOpen, FailedToParse.
StatusWith<std::vector<bson::Document>> readIsoList(const IsoList& list,
                                                    const std::string& folder = "/usr/share/iso-codes/json");

}  // namespace troupe::demo
