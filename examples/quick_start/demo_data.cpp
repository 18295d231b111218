#include "demo_data.hpp"

#include <chrono>
#include <iostream>

#include <fmt/format.h>

#include "iso_codes.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/client/bulk_insert.hpp"
#include "package_index.hpp"
#include "supervisors/cli/progress.hpp"
#include "supervisors/cli/table.hpp"

namespace troupe::demo {

using namespace supervisors;  // NOLINT: the example is made of the command line's parts
namespace {

using bson::doc;

constexpr std::string_view kMarks = "loaded";

struct DemoIndex {
  std::string_view collection;
  std::string_view name;
  std::string_view key;
  std::string_view purpose;
};
constexpr DemoIndex kIndexes[] = {
    {"packages", "name_1", R"({"name": 1})", "find by name, or by how it begins"},
    {"packages", "section_1_installedSize_-1", R"({"section": 1, "installedSize": -1})", "a section, largest first"},
    {"packages", "installedSize_1", R"({"installedSize": 1})", "the largest and the smallest"},
    {"packages", "depends_1", R"({"depends": 1})", "who needs a package (an entry for each item of the array)"},
    {"packages", "tags_1", R"({"tags": 1})", "packages with a tag"},
    {"subdivisions", "country_1", R"({"country": 1})", "the parts of a country"},
};

/// The error of the first refused write; the demo's own data must all go in.
Status firstRefusal(client::BulkInsert& inserts) {
  const auto errors = inserts.takeErrors();
  return errors.empty() ? Status::OK() : errors.front().status;
}

Status drop(client::Connection& connection, std::string_view collection) {
  const auto reply = connection.run(kDemoDatabase, doc("drop", collection));
  return reply.isOK() || reply.status() == ErrorCode::kNamespaceNotFound ? Status::OK() : reply.status();
}

Status loadPackages(client::Connection& connection, const std::function<bool()>& goOn) {
  TROUPE_ASSIGN(const auto index, findPackageIndex());
  std::cout << "  packages from "
            << (index.installedOnly ? "dpkg's status (apt has no lists here: only what is installed)"
                                    : fmt::format("apt's lists ({} {})", index.files.size(),
                                                  index.files.size() == 1 ? "file" : "files"))
            << std::endl;
  TROUPE_TRY(drop(connection, "packages"));
  client::BulkInsert inserts(connection, kDemoDatabase, "packages");
  Progress progress("packages", index.bytes);
  TROUPE_TRY(readPackages(index, [&](const bson::Document& package, int64_t bytesRead) -> Status {
    TROUPE_TRY(inserts.add(package));
    if (inserts.added() % 500 == 0) {
      progress.update(inserts.added(), bytesRead);
      if (!goOn()) return {ErrorCode::kInterrupted, "stopped"};
    }
    return {};
  }));
  TROUPE_TRY(inserts.flush());
  TROUPE_TRY(firstRefusal(inserts));
  progress.finish(inserts.inserted());
  return {};
}

Status loadIsoLists(client::Connection& connection) {
  Progress progress("ISO codes", 0);
  int64_t loaded = 0;
  for (const auto& list : isoLists()) {
    const auto documents = readIsoList(list);
    if (documents.status() == ErrorCode::kFileNotOpen) {
      if (loaded == 0)
        std::cout << "  no ISO code lists here (Debian package iso-codes): questions about countries are left out\n";
      break;
    }
    TROUPE_TRY(documents.status());
    TROUPE_TRY(drop(connection, list.collection));
    client::BulkInsert inserts(connection, kDemoDatabase, list.collection);
    for (const auto& document : *documents) TROUPE_TRY(inserts.add(document));
    TROUPE_TRY(inserts.flush());
    TROUPE_TRY(firstRefusal(inserts));
    loaded += inserts.inserted();
  }
  if (loaded > 0) progress.finish(loaded);
  return {};
}

}  // namespace

void title(const Paint& paint, std::string_view text) {
  std::cout << "\n" << paint.blue("▸ ") << paint.bold(text) << std::endl;
}

int64_t countDocuments(client::Connection& connection, std::string_view collection) {
  const auto reply = connection.run(kDemoDatabase, doc("count", collection));
  return reply.isOK() ? (*reply)["n"].toInt64() : 0;
}

Status prepareDemoData(client::Connection& connection, const Paint& paint, const std::function<bool()>& goOn) {
  if (demoDataIsComplete(connection)) {
    title(paint, "Data");
    std::cout << "  " << formatCount(countDocuments(connection, "packages"))
              << " packages are there from an earlier run" << std::endl;
    return {};
  }
  title(paint, "Loading this machine's own data");
  TROUPE_TRY(loadDemoData(connection, goOn));
  title(paint, "Building indexes");
  TROUPE_TRY(buildDemoIndexes(connection, paint));
  return markDemoDataComplete(connection);
}

bool demoDataIsComplete(client::Connection& connection) {
  const auto reply = connection.run(kDemoDatabase, doc("count", kMarks, "query", doc("_id", "complete")));
  return reply.isOK() && (*reply)["n"].toInt64() == 1;
}

Status loadDemoData(client::Connection& connection, const std::function<bool()>& goOn) {
  TROUPE_TRY(loadPackages(connection, goOn));
  return loadIsoLists(connection);
}

Status markDemoDataComplete(client::Connection& connection) {
  return connection
      .run(kDemoDatabase,
           doc("update", kMarks, "updates",
               bson::array(doc("q", doc("_id", "complete"), "u", doc("_id", "complete"), "upsert", true)),
               "writeConcern", doc("w", 1, "j", true)))
      .status();
}

Status buildDemoIndexes(client::Connection& connection, const Paint& paint) {
  Table table({{"collection"}, {"index", false, 24}, {"for", false, 24}, {"built in", true}});
  for (const auto& index : kIndexes) {
    TROUPE_ASSIGN(const auto key, bson::fromJson(index.key));
    const auto begun = std::chrono::steady_clock::now();
    TROUPE_ASSIGN(const auto reply,
                  connection.run(kDemoDatabase, doc("createIndexes", index.collection, "indexes",
                                                    bson::array(doc("key", key, "name", index.name)))));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    const bool built = reply["numIndexesAfter"].toInt64() > reply["numIndexesBefore"].toInt64();
    table.add({std::string(index.collection), std::string(index.name), std::string(index.purpose),
               built ? formatDuration(seconds) : "was there"});
  }
  std::cout << table.render(terminalSize().columns, paint) << std::flush;
  return {};
}

}  // namespace troupe::demo
