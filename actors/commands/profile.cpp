// profile: what is recorded of a database's operations.
#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/profiler.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr std::string_view kNoteOfFilter =
    "When a filter expression is set, slowms and sampleRate are not used for profiling and slow-query log lines.";

constexpr uint32_t kMostFilterBytes = 64 * 1024;  // each operation of the database is matched

constexpr Argument kProfileArguments[] = {numberArg("slowms"), numberArg("sampleRate"), anyArg("filter")};

Status checkProfile(const Request& request) {
  if (const double rate = request.arg("sampleRate").toDouble(1); !(rate >= 0 && rate <= 1))
    return {ErrorCode::kBadValue, "'sampleRate' must be between 0.0 and 1.0 inclusive"};
  const auto filter = request.fields()["filter"];
  if (filter && !filter.is(bson::Type::kDocument) && filter.toStringOr() != "unset")
    return {ErrorCode::kBadValue, "Expected an object, or the string 'unset' for 'filter'"};
  if (filter.is(bson::Type::kDocument) && filter.asDocument().size() > kMostFilterBytes)
    return {ErrorCode::kBadValue, "the filter of a profile may have 64 KiB"};
  return Status::OK();
}

/// -1 shows the settings. Errors: TypeMismatch, BadValue.
StatusWith<int64_t> wantedLevel(const Request& request) {
  const auto level = request.body().first();
  if (!level.isNumber())
    return Status(ErrorCode::kTypeMismatch, "'profile' must be a number: -1 shows, 0 to 2 set the level");
  TROUPE_ASSIGN(const int64_t wanted, bson::integerOf(level));
  if (wanted < -1 || wanted > 2)
    return Status(ErrorCode::kBadValue, "the level of profiling must be 0, 1 or 2, or -1 to show it");
  return wanted;
}

/// The settings as the command wants them; a filter that it does not name stays. Errors: those of parsing the filter.
StatusWith<ProfileSettingPtr> newSetting(const Request& request, ProfileLevel level, const ProfileSetting& before) {
  ProfileSetting made{level, before.filter};
  if (const auto filter = request.arg("filter"); filter.is(bson::Type::kDocument)) {
    made.filter = bson::Document(filter.asDocument());
    QueryResources resources(request.server(), request.operation());
    TROUPE_TRY(prepareContext(resources, request, {}, {}));
    TROUPE_TRY(query::parseMatch(*made.filter, resources.context).status());
  } else if (filter) {
    made.filter.reset();
  }
  if (made.level == ProfileLevel::kOff && !made.filter) return ProfileSettingPtr();
  return ProfileSettingPtr(std::make_shared<const ProfileSetting>(std::move(made)));
}

void logChange(const Request& request, int64_t level) {
  const Parameters& parameters = request.server().parameters;
  bson::Builder now;
  now.append("db", request.db()).append("level", level).append("slowms", parameters.slowOperationMillis.load());
  now.append("sampleRate", parameters.slowOpSampleRate.load());
  if (const auto filter = request.arg("filter"); filter && filter.size() <= 2048) now.append("filter", filter);
  request.server().log.info(log::Component::kCommand, 48742, request.client().description(),
                            "The settings of the profiler have changed", now.finish());
}

Status change(const Request& request, int64_t level, const ProfileSetting& before) {
  ServerContext& server = request.server();
  TROUPE_ASSIGN(auto setting, newSetting(request, static_cast<ProfileLevel>(level), before));
  if (const auto slow = request.arg("slowms"))
    TROUPE_TRY(server.parameters.set("slowOpThresholdMs", slow, false).status());
  if (const auto rate = request.arg("sampleRate"))
    TROUPE_TRY(server.parameters.set("slowOpSampleRate", rate, false).status());
  server.profiler.set(request.db(), std::move(setting));
  logChange(request, level);
  return Status::OK();
}

/// Level and filter are those of the database, threshold and sample rate those of the node. The answer tells what they
/// were before.
Task<Status> profile(Request& request) {
  TROUPE_CO_ASSIGN(const int64_t level, wantedLevel(request));
  TROUPE_CO_TRY(checkProfile(request));
  ServerContext& server = request.server();
  const ProfileSettingPtr found = server.profiler.settingOf(request.db());
  const ProfileSetting before = found ? *found : ProfileSetting();
  const int64_t slowMillis = server.parameters.slowOperationMillis;
  const double sampleRate = server.parameters.slowOpSampleRate;
  if (level >= 0) {
    TROUPE_CO_TRY(change(request, level, before));
    co_await settleProfile(request);  // after profiling was turned off its collection may be dropped, and stays so
  }
  bson::Builder& reply = request.reply();
  reply.append("was", static_cast<int32_t>(before.level)).append("slowms", static_cast<int32_t>(slowMillis));
  reply.append("sampleRate", sampleRate);
  if (before.filter) reply.append("filter", *before.filter).append("note", kNoteOfFilter);
  co_return Status::OK();
}

constexpr Command kProfileCommands[] = {
    {.name = "profile",
     .summary = "shows (-1) or sets (0: off, 1: slow ones, 2: all) which operations system.profile records",
     .requirement = {Requirement::Target::kDatabase, auth::Action::kEnableProfiler},
     .access = Access::kAdmin,
     .arguments = kProfileArguments,
     .run = profile},
};

}  // namespace

std::span<const Command> profileCommands() { return kProfileCommands; }

}  // namespace troupe::commands
