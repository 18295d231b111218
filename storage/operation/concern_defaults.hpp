#pragma once
#include <optional>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/concerns.hpp"

namespace troupe::storage {

/// The concerns of commands that name none, as an administrator has set them for the whole replica set: the document
/// `ReadWriteConcernDefaults` of `config.settings`. A plain value.
struct ConcernDefaults {
  static constexpr std::string_view kId = "ReadWriteConcernDefaults";

  std::optional<ReadConcernLevel> read;  ///< local, available or majority; absent: not set
  std::optional<WriteConcern> write;     ///< absent: not set
  bson::Timestamp updateOpTime;          ///< the cluster time of the last change; zero: there was none
  bson::Date updateWallClockTime;

  /// Fields that are none, or whose values could not be set, count as not set: anybody may have written to the
  /// collection.
  static ConcernDefaults of(bson::View stored);
  bson::Document toDocument() const;

  /// What it becomes with other concerns; a null one stays as it is. An empty read concern is one that is not set; a
  /// write concern that was set can only be replaced. Errors: BadValue (nothing is given; w: 0; a level that is not
  /// suitable; a read concern that says more than a level), IllegalOperation (an empty write concern in place of one
  /// that is set), those of parsing concerns.
  StatusWith<ConcernDefaults> with(const bson::View* readConcern, const bson::View* writeConcern) const;
};

}  // namespace troupe::storage
