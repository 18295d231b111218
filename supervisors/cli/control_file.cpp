#include "supervisors/cli/control_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace troupe::supervisors {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string_view valueOf(const Paragraph& paragraph, std::string_view name) {
  const auto found =
      std::find_if(paragraph.begin(), paragraph.end(), [&](const auto& field) { return field.name == name; });
  return found == paragraph.end() ? std::string_view() : std::string_view(found->value);
}

std::optional<int64_t> numberOf(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "Name <email>" as {name, email}.
bson::Document person(std::string_view text) {
  const auto open = text.rfind('<');
  if (open == std::string_view::npos) return bson::doc("name", text);
  const auto close = text.find('>', open);
  const auto length = close == std::string_view::npos ? close : close - open - 1;
  return bson::doc("name", trimmed(text.substr(0, open)), "email", text.substr(open + 1, length));
}

struct TextField {
  std::string_view from, to;
};
constexpr std::array kTexts = {TextField{"Source", "source"}, TextField{"Section", "section"},
                               TextField{"Priority", "priority"}, TextField{"Homepage", "homepage"}};
constexpr std::array kRelations = {TextField{"Depends", "depends"}, TextField{"Recommends", "recommends"},
                                   TextField{"Suggests", "suggests"}, TextField{"Provides", "provides"},
                                   TextField{"Conflicts", "conflicts"}};

void appendRelations(bson::Builder& b, const Paragraph& paragraph) {
  for (const auto& [from, to] : kRelations) {
    // Pre-Depends are dependencies too, for all that a reader wants to know.
    std::string field(valueOf(paragraph, from));
    if (from == "Depends") field.append(",").append(valueOf(paragraph, "Pre-Depends"));
    const auto names = relationNames(field);
    if (!names.empty()) b.append(to, names);
  }
}

void appendSizes(bson::Builder& b, const Paragraph& paragraph) {
  if (const auto kib = numberOf(valueOf(paragraph, "Installed-Size"))) b.append("installedSize", *kib * 1024);
  if (const auto bytes = numberOf(valueOf(paragraph, "Size"))) b.append("size", *bytes);
}

void appendDescription(bson::Builder& b, const Paragraph& paragraph) {
  const auto text = valueOf(paragraph, "Description");
  const auto newline = text.find('\n');
  if (!text.empty()) b.append("description", text.substr(0, newline));
  if (newline != std::string_view::npos) b.append("longDescription", text.substr(newline + 1));
}

}  // namespace

std::optional<Paragraph> ParagraphReader::line(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (trimmed(text).empty()) return end();
  if (text.front() == '#') return std::nullopt;
  if (text.front() == ' ' || text.front() == '\t') {
    if (!paragraph_.empty()) paragraph_.back().value.append("\n").append(text.substr(1));
    return std::nullopt;
  }
  const auto colon = text.find(':');
  if (colon != std::string_view::npos)
    paragraph_.push_back({std::string(text.substr(0, colon)), std::string(trimmed(text.substr(colon + 1)))});
  return std::nullopt;
}

std::optional<Paragraph> ParagraphReader::end() {
  if (paragraph_.empty()) return std::nullopt;
  return std::exchange(paragraph_, {});
}

std::vector<std::string> commaList(std::string_view field) {
  std::vector<std::string> items;
  while (!field.empty()) {
    const auto comma = field.find(',');
    if (const auto item = trimmed(field.substr(0, comma)); !item.empty()) items.emplace_back(item);
    field = comma == std::string_view::npos ? std::string_view() : field.substr(comma + 1);
  }
  return items;
}

std::vector<std::string> relationNames(std::string_view field) {
  std::vector<std::string> names;
  while (!field.empty()) {
    const auto separator = field.find_first_of(",|");
    const auto item = trimmed(field.substr(0, separator));
    const std::string name(item.substr(0, item.find_first_of(" \t\n(:[<")));
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    field = separator == std::string_view::npos ? std::string_view() : field.substr(separator + 1);
  }
  return names;
}

std::optional<bson::Document> packageDocument(const Paragraph& paragraph) {
  const auto name = valueOf(paragraph, "Package"), version = valueOf(paragraph, "Version");
  const auto architecture = valueOf(paragraph, "Architecture"), status = valueOf(paragraph, "Status");
  if (name.empty() || version.empty()) return std::nullopt;
  if (!status.empty() && !status.ends_with(" installed")) return std::nullopt;
  bson::Builder b;
  b.append("_id", std::string(name) + ":" + std::string(architecture)).append("name", name).append("version", version);
  if (!architecture.empty()) b.append("architecture", architecture);
  for (const auto& [from, to] : kTexts)
    if (const auto value = valueOf(paragraph, from); !value.empty()) b.append(to, value);
  if (valueOf(paragraph, "Essential") == "yes") b.append("essential", true);
  appendSizes(b, paragraph);
  if (const auto maintainer = valueOf(paragraph, "Maintainer"); !maintainer.empty())
    b.append("maintainer", person(maintainer));
  appendRelations(b, paragraph);
  if (const auto tags = commaList(valueOf(paragraph, "Tag")); !tags.empty()) b.append("tags", tags);
  appendDescription(b, paragraph);
  return b.finish();
}

}  // namespace troupe::supervisors
