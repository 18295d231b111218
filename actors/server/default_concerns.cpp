#include "actors/server/default_concerns.hpp"

#include <algorithm>
#include <utility>

#include "actors/replication/replication_progress.hpp"
#include "actors/server/command.hpp"
#include "actors/server/operation_setup.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/write_concern.hpp"

namespace troupe::server {

using storage::ConcernDefaults;
using storage::Provenance;
using storage::ReadConcernLevel;

namespace {

std::string idOfDefaults() { return std::string(bson::doc("_id", ConcernDefaults::kId)["_id"].raw()); }

/// Others, like hello, are answered also while nothing can be read.
bool takesConcerns(const Command& command) {
  return command.access == Access::kWrite || command.mayWrite || command.readConcerns != ReadConcerns::kLocal;
}

void applyReadDefault(const Request& request, ReadConcernLevel level) {
  storage::ReadConcern& concern = request.operation().readConcern;
  if (concern.namesLevel || request.db() == "local" || !takesReadConcern(request, level)) return;
  concern.level = level;
  concern.provenance = Provenance::kCustomDefault;
}

storage::WriteConcern writeDefault(const ServerContext& server, const ConcernDefaults& set) {
  return set.write ? *set.write : implicitWriteConcern(server.progress->role()->config);
}

void applyWriteDefault(const ServerContext& server, const ConcernDefaults& set, storage::WriteConcern& concern) {
  if (!concern.given) concern = writeDefault(server, set);
  else if (!concern.namesW) concern.takeW(writeDefault(server, set));
}

}  // namespace

StatusWith<std::shared_ptr<const DefaultConcerns::Now>> DefaultConcerns::get() {
  const uint64_t version = settings_.version();
  {
    const std::lock_guard lock(mutex_);
    if (now_ && version_ == version) return now_;
  }
  static const std::string kKey = idOfDefaults();
  const auto documents = settings_.all();
  const bool isDamaged = documents.status() == ErrorCode::kDataCorruptionDetected;  // sets nothing, and can be mended
  if (!documents.isOK() && !isDamaged) return documents.status();
  auto next = std::make_shared<Now>();
  if (!isDamaged)
    if (const auto found = (*documents)->find(kKey); found != (*documents)->end())
      next->set = ConcernDefaults::of(found->second.document);
  next->localUpdateWallClockTime = {wallMillis_()};
  const std::lock_guard lock(mutex_);
  now_ = std::move(next);
  version_ = version;
  return now_;
}

Status applyDefaultConcerns(Request& request) {
  ServerContext& server = request.server();
  if (!server.progress || request.client().isInternal()) return Status::OK();
  if (!takesConcerns(*request.command)) {
    request.operation().writeConcern = implicitWriteConcern(server.progress->role()->config);
    return Status::OK();
  }
  TROUPE_ASSIGN(const auto now, server.defaultConcerns->get());
  if (now->set.read) applyReadDefault(request, *now->set.read);
  applyWriteDefault(server, now->set, request.operation().writeConcern);
  return Status::OK();
}

void appendDefaultConcerns(bson::Builder& out, const DefaultConcerns::Now& now, const ServerContext& server) {
  const ConcernDefaults& set = now.set;
  const auto source = [](bool isSet) { return isSet ? "global" : "implicit"; };
  out.append("defaultReadConcern", bson::doc("level", levelName(set.read.value_or(ReadConcernLevel::kLocal))));
  out.openDocument("defaultWriteConcern");
  writeDefault(server, set).appendTo(out);
  out.close();
  if (set.updateOpTime != bson::Timestamp{})
    out.append("updateOpTime", set.updateOpTime).append("updateWallClockTime", set.updateWallClockTime);
  out.append("defaultWriteConcernSource", source(set.write.has_value()))
      .append("defaultReadConcernSource", source(set.read.has_value()))
      .append("localUpdateWallClockTime", now.localUpdateWallClockTime);
}

void appendConcerns(bson::Builder& out, const Request& request) {
  if (!request.server().progress || !request.command) return;
  const storage::OperationContext& operation = request.operation();
  if (request.command->readConcerns != ReadConcerns::kLocal) {
    const storage::ReadConcern& read = operation.readConcern;
    out.append("readConcern", bson::doc("level", levelName(read.level), "provenance", provenanceName(read.provenance)));
  }
  if (request.command->access != Access::kWrite && !operation.hasWritten()) return;
  out.openDocument("writeConcern");
  operation.writeConcern.appendTo(out);
  out.append("provenance", provenanceName(operation.writeConcern.provenance)).close();
}

}  // namespace troupe::server
