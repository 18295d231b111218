#include "storage/oplog/document_delta.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "storage/oplog/document_difference.hpp"

namespace troupe::storage {

namespace {

Status malformed(std::string reason) { return {ErrorCode::kFailedToParse, "delta: " + std::move(reason)}; }

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

/// Reads an encoded difference, strictly.
class DeltaParser {
 public:
  static StatusWith<DocumentDifference> parse(bson::View encoded, int depth) {
    if (depth > kMaxDifferenceDepth) return {ErrorCode::kOverflow, "delta: nested too deeply"};
    if (encoded.first().name() == "a") return parseArray(encoded, depth);
    DocumentDifference difference;
    std::vector<std::string_view> sections;
    for (const bson::Element& section : encoded) {
      if (!section.is(bson::Type::kDocument)) return malformed(quoted(section.name()) + " must be a document");
      TROUPE_TRY(parseSection(section, depth, difference));
      sections.push_back(section.name());
    }
    TROUPE_TRY(requireUnique(std::move(sections)));
    std::vector<std::string_view> names = difference.removed;
    for (const auto& change : difference.changed) names.push_back(change.name);
    for (const bson::Element& field : difference.inserted) names.push_back(field.name());
    TROUPE_TRY(requireUnique(std::move(names)));
    return difference;
  }

 private:
  static Status parseSection(const bson::Element& section, int depth, DocumentDifference& into) {
    const std::string_view name = section.name();
    if (name.starts_with('s')) return parseNested(section, 0, depth, into);
    if (name != "d" && name != "u" && name != "i") return malformed("unknown section " + quoted(name));
    for (const bson::Element& field : section.asDocument()) {
      if (name == "u") into.changed.push_back({field.name(), 0, field, nullptr});
      else if (name == "i") into.inserted.push_back(field);
      else if (!field.is(bson::Type::kBool) || field.asBool())
        return malformed("the removed field " + quoted(field.name()) + " must have the value false");
      else into.removed.push_back(field.name());
    }
    return Status::OK();
  }

  static Status parseNested(const bson::Element& section, uint32_t index, int depth, DocumentDifference& into) {
    TROUPE_ASSIGN(auto nested, parse(section.asDocument(), depth + 1));
    auto owned = std::make_unique<DocumentDifference>(std::move(nested));
    into.changed.push_back({section.name().substr(1), index, {}, std::move(owned)});
    return Status::OK();
  }

  static StatusWith<DocumentDifference> parseArray(bson::View encoded, int depth) {
    DocumentDifference difference;
    difference.array = true;
    for (const bson::Element& part : encoded) {
      const std::string_view name = part.name();
      if (name == "a") {
        if (difference.length || !difference.changed.empty() || !part.is(bson::Type::kBool) || !part.asBool())
          return malformed("the mark of an array must be 'a: true' and come first");
      } else if (name == "l") {
        if (difference.length || !difference.changed.empty() || !part.is(bson::Type::kInt32) || part.asInt32() < 0)
          return malformed("the length of an array must be one int from 0 on, before its elements");
        difference.length = part.asInt32();
      } else {
        TROUPE_TRY(parseElement(part, depth, difference));
      }
    }
    return difference;
  }

  /// `u<index>: value` or `s<index>: {nested}`.
  static Status parseElement(const bson::Element& part, int depth, DocumentDifference& into) {
    const std::string_view name = part.name();
    const bool nested = name.starts_with('s');
    if (!nested && !name.starts_with('u')) return malformed("unknown part " + quoted(name) + " of an array");
    uint32_t index = 0;
    const std::string_view digits = name.substr(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error != std::errc() || end != digits.data() + digits.size() || (digits.size() > 1 && digits[0] == '0'))
      return malformed(quoted(name) + " must end in an array's index");
    if (!into.changed.empty() && into.changed.back().index >= index)
      return malformed("the elements of an array must be in order, " + quoted(name) + " is not");
    if (!nested) {
      into.changed.push_back({digits, index, part, nullptr});
      return Status::OK();
    }
    if (!part.is(bson::Type::kDocument)) return malformed(quoted(name) + " must be a document");
    return parseNested(part, index, depth, into);
  }

  static Status requireUnique(std::vector<std::string_view> names) {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    return twice == names.end() ? Status::OK() : malformed(quoted(*twice) + " is there twice");
  }
};

/// Writes a document as it is after a difference.
class DeltaApplication {
 public:
  explicit DeltaApplication(size_t maxSize) : maxSize_(maxSize) {}

  Status documents(bson::View document, const DocumentDifference& difference) {
    std::vector<Mention> mentions = mentionsOf(difference);
    for (const bson::Element& field : document) {
      Mention* const mention = find(mentions, field.name());
      if (!mention) result_.append(field);
      else if (mention->change) TROUPE_TRY(change(field, *mention->change, field.name()));
      if (mention) mention->met = true;
    }
    // A field that a later entry of the log removes again: it was there when the entry was written.
    for (const auto& changed : difference.changed) {
      if (changed.value && !find(mentions, changed.name)->met) result_.append(changed.value);
    }
    for (const bson::Element& field : difference.inserted) result_.append(field);
    return Status::OK();
  }

  StatusWith<bson::Document> finish() && {
    bson::Document document = result_.finish();
    if (document.view().size() > maxSize_) return tooLarge();
    return document;
  }

 private:
  struct Mention {
    std::string_view name;
    const DocumentDifference::Change* change;  ///< null: the field leaves its place
    bool met = false;
  };

  static std::vector<Mention> mentionsOf(const DocumentDifference& difference) {
    std::vector<Mention> mentions;
    mentions.reserve(difference.removed.size() + difference.changed.size() + difference.inserted.size());
    for (const std::string_view name : difference.removed) mentions.push_back({name, nullptr});
    for (const auto& change : difference.changed) mentions.push_back({change.name, &change});
    for (const bson::Element& field : difference.inserted) mentions.push_back({field.name(), nullptr});
    std::sort(mentions.begin(), mentions.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return mentions;
  }

  static Mention* find(std::vector<Mention>& mentions, std::string_view name) {
    const auto earlier = [](const Mention& mention, std::string_view wanted) { return mention.name < wanted; };
    const auto found = std::lower_bound(mentions.begin(), mentions.end(), name, earlier);
    return found != mentions.end() && found->name == name ? &*found : nullptr;
  }

  Status change(const bson::Element& old, const DocumentDifference::Change& change, std::string_view name) {
    if (change.value) {
      result_.append(name, change.value);
      return Status::OK();
    }
    const bool array = change.nested->array;
    if (!old.is(array ? bson::Type::kArray : bson::Type::kDocument)) {
      result_.append(old);
      return Status::OK();
    }
    if (array) {
      result_.openArray(name);
      TROUPE_TRY(arrays(old.asArray(), *change.nested));
    } else {
      result_.openDocument(name);
      TROUPE_TRY(documents(old.asDocument(), *change.nested));
    }
    result_.close();
    return Status::OK();
  }

  Status arrays(bson::View array, const DocumentDifference& difference) {
    auto next = difference.changed.begin();
    uint32_t index = 0;
    for (auto old = array.begin(); old != array.end(); ++old, ++index) {
      if (difference.length && index >= *difference.length) break;
      const bool changed = next != difference.changed.end() && next->index == index;
      if (changed) TROUPE_TRY(change(*old, *next++, old->name()));
      else result_.append(*old);
    }
    // Elements beyond the end, as of an array that a later entry makes shorter: the gap before them is filled.
    for (; next != difference.changed.end(); ++next) {
      if (!next->value) continue;
      for (; index < next->index; ++index) {
        result_.append(std::to_string(index), bson::Null{});
        if (result_.size() > maxSize_) return tooLarge();
      }
      result_.append(next->name, next->value);
      ++index;
    }
    return Status::OK();
  }

  static Status tooLarge() {
    return {ErrorCode::kBSONObjectTooLarge, "delta: the document would become larger than the limit"};
  }

  const size_t maxSize_;
  bson::Builder result_;
};

}  // namespace

std::optional<bson::Document> delta(bson::View before, bson::View after) {
  const DocumentDifference difference = differenceOf(before, after);
  if (difference.encodedSize >= after.size()) return std::nullopt;
  bson::Builder builder;
  builder.append("$v", 2).openDocument("diff");
  encode(difference, builder);
  bson::Document result = builder.close().finish();
  if (result.view().size() >= after.size()) return std::nullopt;
  // Two fields of one name, or an array whose elements are not named by their indexes: no delta can tell such apart. A
  // member that replays the log must hold the very same bytes, so what cannot be shown to lead there is not used.
  const auto applied = applyDelta(before, result);
  if (!applied.isOK() || !(applied->view() == after)) return std::nullopt;
  return result;
}

bool isDelta(bson::View update) { return update.first().name() == "$v"; }

StatusWith<bson::Document> applyDelta(bson::View document, bson::View delta, size_t maxSize) {
  const bson::Element version = delta["$v"];
  if (!version.isNumber() || version.toInt64() != 2) return malformed("'$v' must be 2");
  const bson::Element encoded = delta["diff"];
  if (!encoded.is(bson::Type::kDocument)) return malformed("'diff' must be a document");
  if (delta.count() != 2) return malformed("there must be no field beside '$v' and 'diff'");
  TROUPE_ASSIGN(const DocumentDifference difference, DeltaParser::parse(encoded.asDocument(), 0));
  if (difference.array) return malformed("'diff' must not be of an array");
  DeltaApplication application(maxSize);
  TROUPE_TRY(application.documents(document, difference));
  return std::move(application).finish();
}

}  // namespace troupe::storage
