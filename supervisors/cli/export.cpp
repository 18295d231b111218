#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "messaging/bson/json.hpp"
#include "messaging/client/cursor.hpp"
#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/control_file.hpp"
#include "supervisors/cli/csv.hpp"
#include "supervisors/cli/extended_json.hpp"
#include "supervisors/cli/progress.hpp"

namespace troupe::supervisors {
namespace {

struct ExportOptions {
  ServerOption server{.answerTimeoutMs = 0};  // a large collection may take its time
  std::string database, collection, query, sort, fields, out;
  std::string type;
  int64_t limit = 0;
  bool relaxed = false, quiet = false;
};

/// Formats documents into a file; knows what comes before, between and after them.
class Output {
 public:
  Output(std::FILE* file, const ExportOptions& options)
      : file_(file), options_(options), columns_(commaList(options.fields)) {}

  void begin() {
    if (options_.type == "json") put("[");
    if (options_.type != "csv") return;
    std::string line;
    for (const auto& column : columns_) line += (line.empty() ? "" : ",") + csvQuoted(column);
    put(line + "\n");
  }

  void write(bson::View document) {
    if (options_.type == "csv") return writeRecord(document);
    const std::string text = options_.relaxed ? bson::toRelaxedJson(document) : bson::toCanonicalJson(document);
    if (options_.type == "json") put(count_ == 0 ? "\n" : ",\n");
    put(text);
    if (options_.type == "jsonl") put("\n");
    ++count_;
  }

  void end() {
    if (options_.type == "json") put(count_ == 0 ? "]\n" : "\n]\n");
  }

  int64_t count() const { return count_; }

  /// Whether all could be written.
  bool good() { return std::ferror(file_) == 0 && std::fflush(file_) == 0; }

 private:
  void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_); }

  void writeRecord(bson::View document) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line.push_back(',');
      line += csvQuoted(csvText(document.at(columns_[i])));
    }
    put(line + "\n");
    ++count_;
  }

  std::FILE* file_;
  const ExportOptions& options_;
  std::vector<std::string> columns_;
  int64_t count_ = 0;
};

StatusWith<bson::Document> argument(std::string_view text, std::string_view option) {
  auto parsed = parseExtendedJson(text);
  if (!parsed.isOK()) return parsed.status().withContext(option);
  return parsed;
}

StatusWith<bson::Document> findCommand(const ExportOptions& options) {
  bson::Builder b;
  b.append("find", options.collection);
  if (!options.query.empty()) {
    TROUPE_ASSIGN(const auto query, argument(options.query, "--query"));
    b.append("filter", query);
  }
  if (!options.sort.empty()) {
    TROUPE_ASSIGN(const auto sort, argument(options.sort, "--sort"));
    b.append("sort", sort);
  }
  const auto fields = commaList(options.fields);
  if (!fields.empty()) {
    b.openDocument("projection");
    bool id = false;
    for (const auto& field : fields) {
      b.append(field, 1);
      id = id || field == "_id" || field.starts_with("_id.");
    }
    if (!id) b.append("_id", 0);
    b.close();
  }
  if (options.limit > 0) b.append("limit", options.limit);
  b.append("noCursorTimeout", true);
  return b.finish();
}

int64_t countOf(client::Connection& connection, const ExportOptions& options, bson::View find) {
  bson::Builder b;
  b.append("count", options.collection);
  if (find.has("filter")) b.append("query", find["filter"]);
  if (find.has("limit")) b.append("limit", find["limit"]);
  const auto reply = connection.run(options.database, b.finish());
  return reply.isOK() ? (*reply)["n"].toInt64() : 0;
}

int copy(client::Connection& connection, const ExportOptions& options, bson::View find, std::FILE* file) {
  const bool quiet = options.quiet || (options.out.empty() && isTerminal(1));
  Progress progress("documents", quiet ? 0 : countOf(connection, options, find), quiet);
  auto cursor = client::Cursor::open(connection, options.database, find);
  if (!cursor.isOK()) return complain(cursor.status());
  Output output(file, options);
  output.begin();
  for (;;) {
    const auto document = cursor->next();
    if (!document.isOK()) return complain(document.status());
    if (!*document) break;
    output.write(**document);
    if (output.count() % 256 == 0) {
      progress.update(output.count(), output.count());
      if (std::ferror(file)) break;
    }
  }
  output.end();
  if (!output.good())
    return complain("cannot write " + (options.out.empty() ? std::string("standard output") : options.out) + ": " +
                    std::strerror(errno));
  progress.finish(output.count());
  return kExitDone;
}

int runExport(ExportOptions options) {
  if (options.type.empty()) {
    const auto ends = [&](std::string_view suffix) { return options.out.ends_with(suffix); };
    options.type = ends(".csv") ? "csv" : ends(".json") ? "json" : "jsonl";
  }
  if (options.type == "csv" && options.fields.empty())
    return complain("CSV needs --fields to know its columns", kExitUsage);
  const auto find = findCommand(options);
  if (!find.isOK()) return complain(find.status().reason(), kExitUsage);
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  if (options.out.empty()) return copy(*connection, options, *find, stdout);
  // An existing file stays as it is until the export is complete.
  const std::string partial = options.out + ".partial";
  std::FILE* file = std::fopen(partial.c_str(), "we");
  if (!file) return complain("cannot write " + partial + ": " + std::strerror(errno));
  const int code = copy(*connection, options, *find, file);
  const bool closed = std::fclose(file) == 0;
  if (code == kExitDone && closed && std::rename(partial.c_str(), options.out.c_str()) == 0) return kExitDone;
  if (code == kExitDone) complain("cannot write " + options.out + ": " + std::strerror(errno));
  (void)std::remove(partial.c_str());
  return code == kExitDone ? kExitFailed : code;
}

}  // namespace

void addExport(ArgumentParser& program) {
  auto options = std::make_shared<ExportOptions>();
  auto& command = program.command("export", "write a collection to a file as JSON or CSV",
                                  [options] { return runExport(*options); });
  addServerOption(command, options->server);
  command.add("-d,--db", &options->database, "database", {.required = true});
  command.add("-c,--collection", &options->collection, "collection", {.required = true});
  command.add("-o,--out", &options->out, "the file; otherwise standard output");
  command.add("--type", &options->type,
              "jsonl (one document a line), json (an array) or csv; otherwise by the file's name",
              {.oneOf = {"json", "jsonl", "csv"}});
  command.add("--query", &options->query, "only documents that match, e.g. '{\"age\": {\"$gt\": 30}}'",
              {.valueName = "JSON"});
  command.add("--sort", &options->sort, "order, e.g. '{\"name\": 1}'", {.valueName = "JSON"});
  command.add("--fields", &options->fields, "only these fields, separated by commas (needed for csv)");
  command.add("--limit", &options->limit, "at most so many documents", {.least = 0});
  command.add("--relaxed", &options->relaxed, "numbers and dates as people write them; the exact types are lost");
  command.add("-q,--quiet", &options->quiet, "no progress");
  command.footer(
      "JSON is canonical Extended JSON: `troupe import` gives every type back.\n"
      "Example: troupe export --db test --collection people --sort '{\"name\": 1}' --out people.jsonl");
}

}  // namespace troupe::supervisors
