#include "test/checkers/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "messaging/bson/json.hpp"

namespace troupe::checkers {

namespace {

std::vector<std::string> sortedBytes(const std::vector<bson::Document>& documents) {
  std::vector<std::string> bytes;
  for (const bson::Document& document : documents) bytes.emplace_back(document.view().bytes());
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

/// The first document that one has and the other has not; empty if they have the same.
std::string firstMissing(const std::vector<std::string>& here, const std::vector<std::string>& there) {
  std::vector<std::string> missing;
  std::set_difference(here.begin(), here.end(), there.begin(), there.end(), std::back_inserter(missing));
  return missing.empty() ? "" : bson::toRelaxedJson(bson::View(missing[0].data()));
}

/// How two sets of documents differ; empty if they do not.
std::string difference(const std::string& one, const std::vector<bson::Document>& ofOne, const std::string& other,
                       const std::vector<bson::Document>& ofOther) {
  const auto left = sortedBytes(ofOne), right = sortedBytes(ofOther);
  if (left == right) return {};
  if (const std::string missing = firstMissing(left, right); !missing.empty())
    return fmt::format("{} has {}, and {} has not", one, missing, other);
  return fmt::format("{} has {}, and {} has not", other, firstMissing(right, left), one);
}

}  // namespace

Verdict compareReplicas(const std::map<std::string, Contents>& byNode) {
  static const std::vector<bson::Document> nothing;
  const auto of = [](const Contents& contents, const std::string& ns) -> const std::vector<bson::Document>& {
    const auto found = contents.find(ns);
    return found == contents.end() ? nothing : found->second;
  };
  for (const auto& [node, contents] : byNode) {
    const auto& [first, expected] = *byNode.begin();
    Contents all = expected;
    all.insert(contents.begin(), contents.end());
    for (const auto& [ns, unused] : all) {
      if (contents.contains(ns) != expected.contains(ns))
        return {fmt::format("{} has a collection {}, and {} has not", contents.contains(ns) ? node : first, ns,
                            contents.contains(ns) ? first : node)};
      const std::string differs = difference(first, of(expected, ns), node, of(contents, ns));
      if (!differs.empty()) return {fmt::format("{}: {}", ns, differs)};
    }
  }
  return {};
}

Verdict compareIndex(const std::string& index, const std::vector<bson::Document>& byIndex,
                     const std::vector<bson::Document>& byCollection) {
  return {difference("the index " + index, byIndex, "the collection", byCollection)};
}

Verdict compareCount(const std::string& what, int64_t counted, const std::vector<bson::Document>& found) {
  if (counted == static_cast<int64_t>(found.size())) return {};
  return {fmt::format("{} is counted as {}, and there are {} documents", what, counted, found.size())};
}

}  // namespace troupe::checkers
