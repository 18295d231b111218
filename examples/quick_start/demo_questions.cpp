#include "demo_questions.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>

#include <fmt/format.h>

#include "demo_data.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/client/cursor.hpp"
#include "supervisors/cli/table.hpp"

namespace troupe::demo {

using namespace supervisors;  // NOLINT: the example is made of the command line's parts
namespace {

constexpr AnswerColumn kBiggest[] = {{"package", "name"},
                                     {"section", "section"},
                                     {"installed", "installedSize", Shown::kBytes},
                                     {"description", "description"}};
constexpr AnswerColumn kSections[] = {
    {"section", "_id"}, {"packages", "packages", Shown::kCount}, {"installed", "installed", Shown::kBytes}};
constexpr AnswerColumn kNeeded[] = {{"package", "_id"}, {"needed by", "count", Shown::kCount}};
constexpr AnswerColumn kPrefix[] = {{"package", "name"}, {"version", "version"}, {"description", "description"}};
constexpr AnswerColumn kMaintainers[] = {
    {"maintainer", "_id"}, {"packages", "packages", Shown::kCount}, {"average size", "average", Shown::kBytes}};
constexpr AnswerColumn kCountries[] = {
    {"country", "country.name"}, {"parts", "parts", Shown::kCount}, {"kinds", "kinds", Shown::kCount}};

constexpr Question kQuestions[] = {
    {"Which packages are the largest once installed (debugging symbols aside)?", "packages",
     R"(db.packages.find({section: {$ne: "debug"}}, {name: 1, section: 1, installedSize: 1, description: 1}).sort({installedSize: -1}).limit(5))",
     R"({"find": "packages", "filter": {"section": {"$ne": "debug"}}, "projection": {"name": 1, "section": 1, "installedSize": 1, "description": 1}, "sort": {"installedSize": -1}, "limit": 5})",
     kBiggest},
    {"Which games are the largest?", "packages",
     R"(db.packages.find({section: "games"}, {name: 1, section: 1, installedSize: 1, description: 1}).sort({installedSize: -1}).limit(5))",
     R"({"find": "packages", "filter": {"section": "games"}, "projection": {"name": 1, "section": 1, "installedSize": 1, "description": 1}, "sort": {"installedSize": -1}, "limit": 5})",
     kBiggest},
    {"How many packages has each section?", "packages",
     R"(db.packages.aggregate([{$group: {_id: "$section", packages: {$sum: 1}, installed: {$sum: "$installedSize"}}}, {$sort: {packages: -1}}, {$limit: 6}]))",
     R"({"aggregate": "packages", "cursor": {}, "pipeline": [{"$group": {"_id": "$section", "packages": {"$sum": 1}, "installed": {"$sum": "$installedSize"}}},
         {"$sort": {"packages": -1}}, {"$limit": 6}]})",
     kSections},
    {"In which sections are the packages that need libc6?", "packages",
     R"(db.packages.aggregate([{$match: {depends: "libc6"}}, {$group: {_id: "$section", packages: {$sum: 1}, installed: {$sum: "$installedSize"}}}, {$sort: {packages: -1}}, {$limit: 5}]))",
     R"({"aggregate": "packages", "cursor": {}, "pipeline": [{"$match": {"depends": "libc6"}},
         {"$group": {"_id": "$section", "packages": {"$sum": 1}, "installed": {"$sum": "$installedSize"}}}, {"$sort": {"packages": -1}}, {"$limit": 5}]})",
     kSections},
    {"Which are the largest packages that need libsqlite3-0?", "packages",
     R"(db.packages.find({depends: "libsqlite3-0"}, {name: 1, section: 1, installedSize: 1, description: 1}).sort({installedSize: -1}).limit(5))",
     R"({"find": "packages", "filter": {"depends": "libsqlite3-0"}, "projection": {"name": 1, "section": 1, "installedSize": 1, "description": 1}, "sort": {"installedSize": -1}, "limit": 5})",
     kBiggest},
    {"What do most packages need?", "packages",
     R"(db.packages.aggregate([{$unwind: "$depends"}, {$group: {_id: "$depends", count: {$sum: 1}}}, {$sort: {count: -1}}, {$limit: 5}]))",
     R"({"aggregate": "packages", "cursor": {}, "pipeline": [{"$unwind": "$depends"}, {"$group": {"_id": "$depends", "count": {"$sum": 1}}}, {"$sort": {"count": -1}}, {"$limit": 5}]})",
     kNeeded},
    {"Which package names begin with \"libc6\"?", "packages",
     R"(db.packages.find({name: /^libc6/}, {name: 1, version: 1, description: 1}).sort({name: 1}).limit(5))",
     R"({"find": "packages", "filter": {"name": {"$regex": "^libc6"}}, "projection": {"name": 1, "version": 1, "description": 1}, "sort": {"name": 1}, "limit": 5})",
     kPrefix},
    {"Whose packages are the largest on average (of those with many)?", "packages",
     R"(db.packages.aggregate([{$group: {_id: "$maintainer.name", packages: {$sum: 1}, average: {$avg: "$installedSize"}}}, {$match: {packages: {$gte: 100}}}, {$sort: {average: -1}}, {$limit: 5}]))",
     R"({"aggregate": "packages", "cursor": {}, "pipeline": [{"$group": {"_id": "$maintainer.name", "packages": {"$sum": 1}, "average": {"$avg": "$installedSize"}}},
         {"$match": {"packages": {"$gte": 100}}}, {"$sort": {"average": -1}}, {"$limit": 5}]})",
     kMaintainers},
    {"Which countries have the most parts (states, provinces, districts ...)?", "subdivisions",
     R"(db.subdivisions.aggregate([{$group: {_id: "$country", parts: {$sum: 1}, kinds: {$addToSet: "$type"}}}, {$sort: {parts: -1}}, {$limit: 5}, {$lookup: {from: "countries", localField: "_id", foreignField: "_id", as: "country"}}, {$unwind: "$country"}, {$set: {kinds: {$size: "$kinds"}}}]))",
     R"({"aggregate": "subdivisions", "cursor": {}, "pipeline": [{"$group": {"_id": "$country", "parts": {"$sum": 1}, "kinds": {"$addToSet": "$type"}}}, {"$sort": {"parts": -1}}, {"$limit": 5},
         {"$lookup": {"from": "countries", "localField": "_id", "foreignField": "_id", "as": "country"}}, {"$unwind": "$country"}, {"$set": {"kinds": {"$size": "$kinds"}}}]})",
     kCountries},
};

std::string cell(const bson::Element& value, Shown shown) {
  if (value.isNumber() && shown == Shown::kBytes) return formatBytes(value.toDouble());
  if (value.isNumber()) return formatCount(value.toInt64());
  if (value.isNullish()) return "-";
  return value.is(bson::Type::kString) ? std::string(value.asString()) : bson::toRelaxedJson(value);
}

/// The text as it could be typed, a stage a line when it is long.
std::string wrapped(std::string_view shell, size_t width) {
  std::string out(shell);
  if (displayWidth(shell) + 2 <= width) return "  " + out;
  constexpr std::string_view kStage = "}, {$";
  for (size_t at = out.find(kStage); at != std::string::npos; at = out.find(kStage, at + kStage.size()))
    out.replace(at, 3, "},\n    ");
  constexpr std::string_view kFirst = "aggregate([";
  if (const auto at = out.find(kFirst); at != std::string::npos) out.insert(at + kFirst.size(), "\n    ");
  return "  " + out;
}

/// "by the index name_1" or "reading the whole collection"; empty when the server does not say.
std::string accessPath(client::Connection& connection, bson::View command) {
  bson::Builder explained;
  explained.append("explain", command).append("verbosity", "queryPlanner");
  const auto plan = connection.run(kDemoDatabase, explained.finish());
  if (!plan.isOK()) return {};
  const auto index = indexOfPlan(*plan);
  if (!index) return {};
  return index->empty() ? "read the whole collection" : "by the index " + *index;
}

}  // namespace

std::span<const Question> demoQuestions() { return kQuestions; }

std::optional<std::string> indexOfPlan(bson::View explain) {
  const auto stage = explain["stage"].toStringOr();
  if (stage == "IXSCAN" || explain.has("indexName")) return std::string(explain["indexName"].toStringOr());
  if (stage == "IDHACK") return "_id_";
  if (stage == "COLLSCAN") return "";
  for (const auto& field : explain) {
    if (!field.isObjectLike() || field.name() == "rejectedPlans" || field.name() == "command") continue;
    if (auto found = indexOfPlan(field.asDocument())) return found;
  }
  return std::nullopt;
}

Status answer(client::Connection& connection, const Question& question, const Paint& paint) {
  TROUPE_ASSIGN(const auto command, bson::fromJson(question.command));
  std::vector<Table::Column> columns;
  for (const auto& column : question.columns)
    columns.push_back(
        {std::string(column.title), column.shown != Shown::kText, std::min<size_t>(column.title.size(), 12)});
  Table table(std::move(columns));
  const auto begun = std::chrono::steady_clock::now();
  TROUPE_ASSIGN(auto cursor, client::Cursor::open(connection, kDemoDatabase, command));
  for (;;) {
    TROUPE_ASSIGN(const auto result, cursor.next());
    if (!result) break;
    std::vector<std::string> cells;
    for (const auto& column : question.columns) cells.push_back(cell(result->at(column.path), column.shown));
    table.add(std::move(cells));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const std::string how = accessPath(connection, command);
  std::cout << "\n"
            << paint.bold(question.title) << "\n"
            << paint.dim(wrapped(question.shell, std::min<size_t>(terminalSize().columns, 110))) << "\n\n"
            << table.render(std::min<size_t>(terminalSize().columns, 110), paint) << "  "
            << paint.green(formatDuration(seconds) + (how.empty() ? "" : ", " + how)) << std::endl;
  return {};
}

}  // namespace troupe::demo
