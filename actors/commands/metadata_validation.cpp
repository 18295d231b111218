// validateDBMetadata: which collections, views and indexes use what API version 1 does not have.
#include "actors/commands/families.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/stable_api.hpp"
#include "messaging/bson/validate.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kArguments[] = {stringArg("db"), stringArg("collection"), documentArg("apiParameters").required()};

constexpr Argument kApiParameters[] = {stringArg("version").required(), boolArg("strict"),
                                       boolArg("deprecationErrors")};

/// What the client asks about. Flags may not be null here, as little as they may be on a command.
StatusWith<bool> isStrict(const Request& request) {
  const bson::View given = request.document("apiParameters");
  TROUPE_TRY(checkFields("validateDBMetadata.apiParameters", kApiParameters, given));
  for (const auto name : {"strict", "deprecationErrors"}) {
    const auto e = given[name];
    if (e && !e.is(bson::Type::kBool))
      return Status(ErrorCode::kTypeMismatch, "BSON field 'validateDBMetadata.apiParameters." + std::string(name) +
                                                  "' is the wrong type '" + std::string(bson::typeName(e.type())) +
                                                  "', expected type 'bool'");
  }
  const auto version = given["version"];
  if (version.isNullish())
    return Status(ErrorCode::kMissingRequiredField,
                  "BSON field 'validateDBMetadata.apiParameters.version' is missing but a required field");
  if (version.asString() != "1") return Status(ErrorCode::kAPIVersionError, "API version must be \"1\"");
  return given["strict"].truthy();
}

/// The findings of one command, as far as they fit into its reply.
class Findings {
 public:
  explicit Findings(Request& request) : request_(request) {}

  void check(const storage::Collection& collection) {
    if (collection.isView()) {
      if (const auto& pipeline = collection.options().pipeline)
        note(collection.ns(), checkStagesInStableApi(*pipeline));
      return;
    }
    for (const auto& index : collection.indexes()) {
      if (checkIndexInStableApi(index->spec.stored).isOK()) continue;
      note(collection.ns(), Status(ErrorCode::kAPIStrictError,
                                   "The index with name " + index->spec.name + " is not allowed in API version 1."));
    }
  }
  void reply() {
    request_.reply().append("apiVersionErrors", rows_);
    if (hasMore_) request_.reply().append("hasMoreErrors", true);
  }

 private:
  /// Below the size that a document of a reply may have.
  static constexpr size_t kMaxBytes = size_t{8} << 20;

  void note(const storage::Namespace& ns, const Status& finding) {
    if (finding.isOK() || hasMore_) return;
    rows_.push_back(bson::doc("ns", ns.toString(), "code", static_cast<int32_t>(finding.code()), "codeName",
                              errorName(finding.code()), "errmsg", bson::asUtf8(finding.reason())));
    bytes_ += rows_.back().view().size();
    hasMore_ = bytes_ > kMaxBytes;
  }

  Request& request_;
  std::vector<bson::Document> rows_;
  size_t bytes_ = 0;
  bool hasMore_ = false;
};

/// As database names are checked where they filter: more may be asked for than can exist.
Status checkFilter(std::string_view db) {
  if (db.empty()) return {ErrorCode(28539), "the name of a database cannot be empty"};
  if (db.find_first_of(std::string_view(".\0", 2)) != std::string_view::npos ||
      db.size() > storage::kMaxDatabaseNameBytes)
    return {ErrorCode::kInvalidNamespace, "Invalid database name: '" + std::string(db) + "'"};
  if (db.find_first_of(" /\\\"") != std::string_view::npos)
    return {ErrorCode(13280), "Invalid db name: " + std::string(db)};
  return Status::OK();
}

/// What the client asks about in one database: it must have the right to validate it.
Task<Status> checkDatabase(Request& request, std::string db, Findings& findings) {
  const auto only = request.text("collection");
  const auto resource = only.empty() ? auth::Resource::db(db) : auth::Resource::coll(db, only);
  TROUPE_CO_TRY(request.authorize(auth::Action::kValidate, resource));
  const auto database = NamespaceResolution::visibleDatabase(request, db);
  if (!database) co_return Status::OK();
  for (const auto& collection : request.server().catalog.collections(*database)) {
    if (!only.empty() && collection->ns().collection() != only) continue;
    if (!NamespaceResolution::coversCollection(request, auth::Action::kValidate, collection->ns())) continue;
    findings.check(*collection);
    TROUPE_CO_TRY(request.checkForInterrupt());
  }
  co_return co_await request.yield();
}

Task<Status> validateDbMetadata(Request& request) {
  TROUPE_CO_TRY(isStrict(request).status());
  std::vector<std::string> databases;
  if (request.arg("db")) {
    databases.emplace_back(request.text("db"));
    TROUPE_CO_TRY(checkFilter(databases.front()));
  } else {
    databases = request.server().catalog.databaseNames();
  }
  Findings findings(request);
  for (const std::string& db : databases) TROUPE_CO_TRY(co_await checkDatabase(request, db, findings));
  findings.reply();
  co_return Status::OK();
}

constexpr Command kMetadataValidationCommands[] = {
    {.name = "validateDBMetadata",
     .summary = "which views and indexes use what API version 1 does not have",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kRead,
     .arguments = kArguments,
     .run = validateDbMetadata},
};

}  // namespace

std::span<const Command> metadataValidationCommands() { return kMetadataValidationCommands; }

}  // namespace troupe::commands
