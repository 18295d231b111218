#pragma once
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// Reads records of CSV (RFC 4180): fields separated by one character, quoted fields with doubled quotes, separators
/// and newlines inside; a byte order mark and CRLF are accepted, empty lines are skipped.
class CsvReader {
 public:
  CsvReader(std::istream& in, char separator) : in_(in), separator_(separator) {}
  /// The next record; empty at the end. Errors: FailedToParse for text after a closing quote and for a quote that never
  /// closes.
  StatusWith<std::vector<std::string>> next();
  /// The line the last record began at, from 1.
  int64_t line() const { return recordLine_; }

 private:
  std::istream& in_;
  char separator_;
  int64_t line_ = 1;
  int64_t recordLine_ = 0;
  bool begun_ = false;
};

/// The value of a CSV text: a number (int, long or double), true or false, an ISO 8601 date, else itself; nothing when
/// empty. Digits with a leading zero ("007") and numbers that a double would change stay text.
bson::Value inferValue(std::string_view text);

/// A document with a field for each column. Dots in a column's name make nested documents ("address.city"). Without
/// `inferTypes` all values are strings; empty fields are left out. Errors: FailedToParse when there are more fields
/// than columns, or when two columns contradict each other ("a" and "a.b").
StatusWith<bson::Document> csvDocument(const std::vector<std::string>& columns, const std::vector<std::string>& fields,
                                       bool inferTypes);

/// A value as text of CSV: strings and numbers plainly, dates as ISO 8601, all else as relaxed Extended JSON.
std::string csvText(const bson::Element& value);
/// The text, in quotes when it needs them.
std::string csvQuoted(std::string_view text, char separator = ',');

}  // namespace troupe::supervisors
