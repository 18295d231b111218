#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/bson/types.hpp"
#include "messaging/bson/view.hpp"
#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

enum class ReadConcernLevel : uint8_t { kLocal, kAvailable, kMajority, kLinearizable, kSnapshot };

std::string_view levelName(ReadConcernLevel level);

/// Where an operation's concern comes from.
enum class Provenance : uint8_t {
  kImplicitDefault,  ///< the server's own default
  kCustomDefault,    ///< what an administrator has set (ConcernDefaults)
  kClientSupplied,   ///< the command
};
std::string_view provenanceName(Provenance provenance);

/// `readConcern` of a command. A plain value.
struct ReadConcern {
  ReadConcernLevel level = ReadConcernLevel::kLocal;
  std::optional<bson::Timestamp> afterClusterTime;       ///< the snapshot is to be this new or newer
  std::optional<bson::Timestamp> atClusterTime;          ///< read exactly as of then (snapshot only)
  std::optional<OpTime> afterOpTime;                     ///< wait for that entry, whoever will write it (RDC-010)
  std::optional<int64_t> term;                           ///< linearizable: of this node as primary, when it was set up
  bool given = false;                                    ///< the command named one
  bool namesLevel = false;                               ///< with a level
  Provenance provenance = Provenance::kImplicitDefault;  ///< of the level

  /// Whether all reads of the operation, sub-pipelines included, see one snapshot, however often it yields.
  bool isSnapshot() const { return level == ReadConcernLevel::kSnapshot; }
  /// Errors: BadValue (unknown level), UnknownField, TypeMismatch, InvalidOptions (times that exclude each other, or
  /// atClusterTime at another level).
  static StatusWith<ReadConcern> parse(bson::View given);
};

/// `writeConcern` of a command. A plain value.
struct WriteConcern {
  int64_t w = 1;  ///< members; 0 wants no answer
  bool majority = false;
  bool named = false;   ///< `mode` is asked for; also a name that is empty, which no config has
  std::string mode;     ///< a tag mode of the replica set config
  bool tagged = false;  ///< tags with numbers of members are asked for
  bool journaled = false;
  std::optional<std::chrono::milliseconds> timeout;
  bool given = false;   ///< the command named one
  bool namesW = false;  ///< with a `w`
  Provenance provenance = Provenance::kImplicitDefault;

  /// Takes `w` from another one.
  void takeW(const WriteConcern& other);
  /// Appends w, j (if it is asked for) and wtimeout as operators know them.
  void appendTo(bson::Builder& out) const;
  /// Whether a reply waits for more than the commit on this node.
  bool isAwaited() const { return journaled || majority || named || w > 1; }
  /// Errors: FailedToParse (ranges, types of `w`), TypeMismatch (other types), UnknownField.
  static StatusWith<WriteConcern> parse(bson::View given);
};

}  // namespace troupe::storage
