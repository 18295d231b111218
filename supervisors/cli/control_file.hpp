#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"

namespace troupe::supervisors {

/// One field of a paragraph of a Debian control file. Continuation lines are joined to the value by newlines, each
/// without its leading blank.
struct ControlField {
  std::string name;
  std::string value;
};
using Paragraph = std::vector<ControlField>;

/// Splits a control file (deb822: "Name: value", continuation lines begin with a blank, paragraphs are separated by
/// blank lines) that arrives line by line. Lines that are neither are ignored, as apt does.
class ParagraphReader {
 public:
  /// Takes one line without its newline; gives a paragraph when the line ends one.
  std::optional<Paragraph> line(std::string_view text);
  /// The last paragraph, at the end of the input.
  std::optional<Paragraph> end();

 private:
  Paragraph paragraph_;
};

/// The names of a relation field in the order they first appear: "a (>= 1) | b, c:any" gives a, b, c.
std::vector<std::string> relationNames(std::string_view field);
/// The parts of a list separated by commas, without blanks around them.
std::vector<std::string> commaList(std::string_view field);

/// A document of a package: {_id, name, version, architecture, source, section, priority, essential, installedSize and
/// size (bytes), maintainer {name, email}, homepage, depends, recommends, suggests, provides, conflicts, tags,
/// description, longDescription}. Absent entries are left out. Nothing for a paragraph without a name or
/// version, or of a package that is not installed
/// (`Status: ... deinstall`). `_id` is "name:architecture".
std::optional<bson::Document> packageDocument(const Paragraph& paragraph);

}  // namespace troupe::supervisors
