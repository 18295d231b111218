#include "iso_codes.hpp"

#include <fstream>
#include <sstream>

#include "messaging/bson/json.hpp"

namespace troupe::demo {

const std::vector<IsoList>& isoLists() {
  static const std::vector<IsoList> lists = {
      {"iso_3166-1.json", "countries", "alpha_2"}, {"iso_3166-2.json", "subdivisions", "code"},
      {"iso_4217.json", "currencies", "alpha_3"},  {"iso_639-3.json", "languages", "alpha_3"},
      {"iso_15924.json", "scripts", "alpha_4"},
  };
  return lists;
}

StatusWith<std::vector<bson::Document>> readIsoList(const IsoList& list, const std::string& folder) {
  const std::string path = folder + "/" + std::string(list.file);
  std::ifstream file(path);
  if (!file) return {ErrorCode::kFileNotOpen, "cannot open " + path};
  std::stringstream text;
  text << file.rdbuf();
  const auto parsed = bson::fromJson(text.view());
  if (!parsed.isOK()) return parsed.status().withContext(path);
  const auto entries = parsed->view().first();
  if (!entries.is(bson::Type::kArray)) return {ErrorCode::kFailedToParse, path + ": the list is not an array"};
  std::vector<bson::Document> documents;
  for (const auto& entry : entries.asArray()) {
    if (!entry.is(bson::Type::kDocument)) continue;
    const auto id = entry.asDocument()[list.idField];
    if (!id.ok()) continue;
    bson::Builder b;
    b.append("_id", id).appendAll(entry.asDocument());
    // "DE-BY" is a part of "DE".
    if (const auto code = id.toStringOr(); list.collection == "subdivisions")
      b.append("country", code.substr(0, code.find('-')));
    documents.push_back(b.finish());
  }
  return documents;
}

}  // namespace troupe::demo
