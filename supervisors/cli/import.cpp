#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "messaging/client/bulk_insert.hpp"
#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/control_file.hpp"
#include "supervisors/cli/document_source.hpp"
#include "supervisors/cli/progress.hpp"

namespace troupe::supervisors {
namespace {

struct ImportOptions {
  ServerOption server{.answerTimeoutMs = 0};  // a large collection may take its time
  std::string file, database, collection, type, columns, upsertKey;
  std::string separator = ",";
  bool drop = false, inferTypes = false, stopOnError = false, quiet = false;
  int64_t batch = 1000;
};

/// Writes documents in batches: inserts, or replacements by a key. Remembers the line each came from.
class Writer {
 public:
  Writer(client::Connection& connection, const ImportOptions& options)
      : connection_(connection),
        options_(options),
        inserts_(connection, options.database, options.collection,
                 {.batchDocuments = options.batch, .ordered = options.stopOnError}) {}

  Status add(const bson::Document& document, int64_t line) {
    lines_.push_back(line);
    if (!upserting()) return inserts_.add(document);
    TROUPE_TRY(addUpdate(document));
    return updateCount_ >= options_.batch || updates_.size() > (8u << 20) ? flush() : Status::OK();
  }

  Status flush() { return upserting() ? sendUpdates() : inserts_.flush(); }

  /// Reports what the server refused since the last call; gives how many.
  int64_t report() {
    auto errors = upserting() ? std::exchange(errors_, {}) : inserts_.takeErrors();
    for (const auto& error : errors) {
      if (++reported_ <= kMostReported)
        complain("line " + std::to_string(lines_[static_cast<size_t>(error.index)]) + ": " + error.status.reason());
    }
    if (reported_ > kMostReported && !errors.empty() && !toldMore_) {
      toldMore_ = true;
      complain("further refused documents are only counted");
    }
    return static_cast<int64_t>(errors.size());
  }

  int64_t written() const { return upserting() ? written_ : inserts_.inserted(); }

 private:
  static constexpr int64_t kMostReported = 20;
  bool upserting() const { return !options_.upsertKey.empty(); }

  Status addUpdate(const bson::Document& document) {
    const auto key = document.view().at(options_.upsertKey);
    if (!key.ok())
      return {ErrorCode::kBadValue, "the document has no field '" + options_.upsertKey + "' (--upsert-key)"};
    bson::Builder filter;
    // The comparison with $eq keeps a key that is a regular expression from matching as one.
    filter.openDocument(options_.upsertKey).append("$eq", key).close();
    updates_ += bson::doc("q", filter.finish(), "u", document, "upsert", true).bytes();
    ++updateCount_;
    return {};
  }

  Status sendUpdates() {
    if (updateCount_ == 0) return {};
    const wire::DocumentSequence sequence[] = {{"updates", {updates_, static_cast<size_t>(updateCount_)}}};
    const auto reply = connection_.runBorrowed(
        options_.database, bson::doc("update", options_.collection, "ordered", options_.stopOnError), sequence);
    const int64_t first = sent_;
    sent_ += updateCount_;
    updateCount_ = 0;
    updates_.clear();
    if (!reply.isOK()) return reply.status();
    written_ += (*reply)["n"].toInt64();
    for (auto& error : client::writeErrorsOf(*reply, first)) errors_.push_back(std::move(error));
    return {};
  }

  client::Connection& connection_;
  const ImportOptions& options_;
  client::BulkInsert inserts_;
  std::vector<int64_t> lines_;
  std::string updates_;
  int64_t updateCount_ = 0, sent_ = 0, written_ = 0, reported_ = 0;
  bool toldMore_ = false;
  std::vector<client::WriteError> errors_;
};

std::string typeOf(const ImportOptions& options) {
  if (!options.type.empty()) return options.type;
  const auto extension = std::filesystem::path(options.file).extension();
  if (extension == ".csv") return "csv";
  if (extension == ".tsv") return "tsv";
  if (extension == ".jsonl" || extension == ".ndjson") return "jsonl";
  return "json";
}

std::unique_ptr<DocumentSource> openSource(std::istream& in, const ImportOptions& options) {
  const std::string type = typeOf(options);
  if (type == "json" || type == "jsonl") return jsonSource(in, type == "jsonl");
  return csvSource(in, {.separator = type == "tsv" || options.separator == "\\t" ? '\t' : options.separator[0],
                        .columns = commaList(options.columns),
                        .inferTypes = options.inferTypes});
}

struct Tally {
  int64_t read = 0, failed = 0;
};

/// Reads to the end. Errors: those that end the whole import.
Status copy(std::istream& in, DocumentSource& source, Writer& writer, const ImportOptions& options, Progress& progress,
            Tally& tally) {
  while (!source.ended()) {
    const auto document = source.next();
    if (document.isOK() && !*document) break;
    Status status = document.isOK() ? writer.add(**document, source.line()) : document.status();
    if (!status.isOK()) {
      const bool ofDocument = !document.isOK() || status == ErrorCode::kBadValue;
      if (!ofDocument) return status;
      complain("line " + std::to_string(source.line()) + ": " + status.reason());
      ++tally.failed;
      if (options.stopOnError) return writer.flush();
    }
    ++tally.read;
    if (const int64_t refused = writer.report(); refused > 0) {
      tally.failed += refused;
      if (options.stopOnError) return {};
    }
    if (tally.read % 256 == 0) progress.update(tally.read, static_cast<int64_t>(in.tellg()));
  }
  return writer.flush();
}

int import(const ImportOptions& options) {
  std::ifstream file;
  int64_t size = 0;
  if (options.file != "-") {
    std::error_code error;
    if (std::filesystem::is_directory(options.file, error)) return complain(options.file + " is a directory");
    file.open(options.file, std::ios::binary);
    if (!file) return complain("cannot open " + options.file + ": " + std::strerror(errno));
    size = static_cast<int64_t>(std::filesystem::file_size(options.file, error));
    if (error) size = 0;
  }
  std::istream& in = options.file == "-" ? std::cin : file;
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  if (options.drop) {
    const auto dropped = connection->run(options.database, bson::doc("drop", options.collection));
    if (!dropped.isOK() && !(dropped.status() == ErrorCode::kNamespaceNotFound)) return complain(dropped.status());
  }
  const auto source = openSource(in, options);
  Writer writer(*connection, options);
  Progress progress("documents", size, options.quiet);
  Tally tally;
  const Status status = copy(in, *source, writer, options, progress, tally);
  tally.failed += writer.report();
  progress.finish(writer.written());
  if (!status.isOK()) return complain(status);
  if (tally.failed > 0)
    return complain(std::to_string(tally.failed) + " documents of " + options.file + " were not imported");
  return kExitDone;
}

}  // namespace

void addImport(ArgumentParser& program) {
  auto options = std::make_shared<ImportOptions>();
  auto& command =
      program.command("import", "load a file of JSON or CSV into a collection", [options] { return import(*options); });
  command.add("FILE", &options->file, "the file; - reads standard input", {.required = true});
  addServerOption(command, options->server);
  command.add("-d,--db", &options->database, "database", {.required = true});
  command.add("-c,--collection", &options->collection, "collection", {.required = true});
  command.add(
      "--type", &options->type,
      "json; jsonl, one document a line, of which a broken line costs only itself; csv or tsv; otherwise by the "
      "file's name",
      {.oneOf = {"json", "jsonl", "csv", "tsv"}});
  command.add("--drop", &options->drop, "drop the collection first");
  command.add("--upsert-key", &options->upsertKey, "replace the document with the same value in this field, or insert");
  command.add("--batch", &options->batch, "documents sent at once", {.showDefault = true, .least = 1, .most = 100000});
  command.add("--columns", &options->columns,
              "names of the CSV columns, separated by commas; otherwise the first line has them");
  const auto isSeparator = [](const std::string& text) {
    return text.size() == 1 || text == "\\t" ? "" : "must be one character";
  };
  command.add("--separator", &options->separator, "character between the fields of CSV",
              {.showDefault = true, .check = isSeparator});
  command.add("--types", &options->inferTypes, "read numbers, true, false and ISO dates in CSV as such, not as text");
  command.add("--stop-on-error", &options->stopOnError, "end at the first bad document instead of skipping it");
  command.add("-q,--quiet", &options->quiet, "no progress");
  command.footer(
      "Errors name the line. Exit code 1 when any document was not imported.\n"
      "Example: troupe import people.csv --db test --collection people --types --drop");
}

}  // namespace troupe::supervisors
