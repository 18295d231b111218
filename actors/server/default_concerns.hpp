#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "actors/server/observed_documents.hpp"
#include "actors/server/request.hpp"
#include "storage/operation/concern_defaults.hpp"

namespace troupe::server {

/// The default concerns of a replica set as this member has them, for each of its commands. Thread-safe.
class DefaultConcerns {
 public:
  /// `settings`: the documents of `config.settings`; outlives it.
  DefaultConcerns(ObservedDocuments& settings, std::function<int64_t()> wallMillis)
      : settings_(settings), wallMillis_(std::move(wallMillis)) {}

  struct Now {
    storage::ConcernDefaults set;
    bson::Date localUpdateWallClockTime;  ///< when this member has taken them over
  };
  /// Where the collection is damaged, or a view, none are set. Errors: those of ObservedDocuments else.
  StatusWith<std::shared_ptr<const Now>> get();

 private:
  ObservedDocuments& settings_;
  const std::function<int64_t()> wallMillis_;
  std::mutex mutex_;
  std::shared_ptr<const Now> now_;
  uint64_t version_ = 0;  ///< of the documents that `now_` comes from
};

/// Gives the operation of a client the defaults in place of what its command does not say: of the read concern the
/// level, of the write concern all, or `w`. Members among themselves say what they want. Where the level that was set
/// does not fit the command, it reads as if none was set. Nothing on a node that stands alone. Errors: those of
/// DefaultConcerns.
Status applyDefaultConcerns(Request& request);

/// The default concerns in effect and where they come from, as getDefaultRWConcern and serverStatus show them.
void appendDefaultConcerns(bson::Builder& out, const DefaultConcerns::Now& now, const ServerContext& server);

/// Appends the concerns of a command of a member, each with its provenance, for logs and profiles.
void appendConcerns(bson::Builder& out, const Request& request);

}  // namespace troupe::server
