#include "supervisors/cli/document_source.hpp"

#include "supervisors/cli/csv.hpp"
#include "supervisors/cli/extended_json.hpp"

namespace troupe::supervisors {
namespace {

constexpr auto kEndOfFile = std::istream::traits_type::eof();
/// Canonical Extended JSON takes more room than the document; what is larger than this cannot be one.
constexpr size_t kLargestText = size_t{16} * bson::kMaxDocumentSize;

bool isBlank(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class JsonSource final : public DocumentSource {
 public:
  JsonSource(std::istream& in, bool byLine) : in_(*in.rdbuf()), byLine_(byLine) {}

  StatusWith<std::optional<bson::Document>> next() override {
    int c = skipBlanks();
    if (!begun_) {
      begun_ = true;
      if (c == 0xEF && take() == 0xEF) take(), take(), c = skipBlanks();
      if (c == '[') inArray_ = true, byLine_ = false, take(), c = skipBlanks();
    } else if (c == ',') {
      take();
      c = skipBlanks();
    }
    documentLine_ = line_;
    if (inArray_ && c == ']') return closeArray();
    if (c == kEndOfFile) {
      ended_ = true;
      if (inArray_) return failure("the array is not closed");
      return std::optional<bson::Document>();
    }
    if (c != '{') {
      skipLine();
      return failure("a document must begin with '{'");
    }
    TROUPE_ASSIGN(const std::string text, readObject());
    TROUPE_ASSIGN(auto document, parseExtendedJson(text));
    return std::optional(std::move(document));
  }

  int64_t line() const override { return documentLine_; }
  bool ended() const override { return ended_; }

 private:
  static Status failure(std::string what) { return {ErrorCode::kFailedToParse, "invalid JSON: " + std::move(what)}; }

  int take() {
    const int c = in_.sbumpc();
    line_ += c == '\n';
    return c;
  }

  int skipBlanks() {
    while (isBlank(in_.sgetc())) take();
    return in_.sgetc();
  }

  void skipLine() {
    for (int c = take(); c != '\n' && c != kEndOfFile;) c = take();
  }

  StatusWith<std::optional<bson::Document>> closeArray() {
    take();
    ended_ = true;
    if (skipBlanks() != kEndOfFile) {
      documentLine_ = line_;
      return failure("text after the end of the array");
    }
    return std::optional<bson::Document>();
  }

  /// Everything from the brace to the one that matches it; where every line is a document, not beyond its line, so that
  /// the next one can be read.
  StatusWith<std::string> readObject() {
    std::string text;
    int depth = 0;
    bool quoted = false;
    for (;;) {
      const int c = take();
      if (c == '\n' && byLine_) return failure("the document is not closed at the end of its line");
      if (c == kEndOfFile || text.size() > kLargestText) {
        ended_ = true;
        return failure(c == kEndOfFile ? "the document is not closed at the end of the file"
                                       : "the document is larger than 16 MiB");
      }
      text.push_back(static_cast<char>(c));
      if (quoted) {
        const int next = in_.sgetc();
        if (c == '\\' && next != kEndOfFile && !(byLine_ && next == '\n')) text.push_back(static_cast<char>(take()));
        quoted = c != '"';
      } else if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return text;
      }
    }
  }

  std::streambuf& in_;
  bool byLine_;  ///< a document ends with its line
  bool begun_ = false;
  bool inArray_ = false;
  bool ended_ = false;
  int64_t line_ = 1;
  int64_t documentLine_ = 1;
};

class CsvSource final : public DocumentSource {
 public:
  CsvSource(std::istream& in, const CsvOptions& options) : reader_(in, options.separator), options_(options) {}

  StatusWith<std::optional<bson::Document>> next() override {
    if (options_.columns.empty()) {
      auto header = reader_.next();
      if (!header.isOK()) return stop(header.status());
      if (header->empty()) return finished();
      if (Status status = checkColumns(*header); !status.isOK()) return stop(status);
      options_.columns = std::move(*header);
    }
    const auto record = reader_.next();
    if (!record.isOK()) return stop(record.status());
    if (record->empty()) return finished();
    TROUPE_ASSIGN(auto document, csvDocument(options_.columns, *record, options_.inferTypes));
    return std::optional(std::move(document));
  }

  int64_t line() const override { return reader_.line(); }
  bool ended() const override { return ended_; }

 private:
  Status stop(Status status) {
    ended_ = true;
    return status;
  }
  StatusWith<std::optional<bson::Document>> finished() {
    ended_ = true;
    return std::optional<bson::Document>();
  }
  static Status checkColumns(const std::vector<std::string>& columns) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].empty())
        return {ErrorCode::kFailedToParse, "column " + std::to_string(i + 1) + " of the header has no name"};
      for (size_t j = 0; j < i; ++j)
        if (columns[i] == columns[j]) return {ErrorCode::kFailedToParse, "the header names '" + columns[i] + "' twice"};
    }
    return {};
  }

  CsvReader reader_;
  CsvOptions options_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<DocumentSource> jsonSource(std::istream& in, bool byLine) {
  return std::make_unique<JsonSource>(in, byLine);
}
std::unique_ptr<DocumentSource> csvSource(std::istream& in, const CsvOptions& options) {
  return std::make_unique<CsvSource>(in, options);
}

}  // namespace troupe::supervisors
