#pragma once
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// Documents of a file, one after the other.
class DocumentSource {
 public:
  virtual ~DocumentSource() = default;
  /// The next document, nothing at the end. After FailedToParse about one document the source stands behind it and can
  /// go on, unless `ended()`.
  virtual StatusWith<std::optional<bson::Document>> next() = 0;
  /// The line on which the last document (or failure) began, from 1.
  virtual int64_t line() const = 0;
  /// Whether nothing more can be read.
  virtual bool ended() const = 0;
};

/// Extended JSON: documents one after the other, on lines of their own or not, or one array of documents. `byLine`:
/// unless it is an array every line holds one document, and one that is broken costs no other line. `in` is borrowed.
std::unique_ptr<DocumentSource> jsonSource(std::istream& in, bool byLine = false);

struct CsvOptions {
  char separator = ',';
  std::vector<std::string> columns;  ///< empty: the first record names them
  bool inferTypes = false;
};
/// CSV; see csv.hpp. `in` is borrowed.
std::unique_ptr<DocumentSource> csvSource(std::istream& in, const CsvOptions& options);

}  // namespace troupe::supervisors
