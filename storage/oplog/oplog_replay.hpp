#pragma once
#include <cstdint>
#include <functional>

#include "messaging/clock/op_time.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

/// What a replay has done.
struct Replayed {
  int64_t entries = 0;
  bson::Timestamp last;   ///< time of the last entry; zero: there was none
  int64_t recounted = 0;  ///< collections whose documents were counted at the end
};

/// Carries out what the log holds behind `after`, to its end (REC-007, SRC-007): at the start of a member, whose
/// replicated tables are as of its last stable checkpoint. The log must hold the entry of that time, which truncation
/// leaves (OplogTrimmer): then none behind it is missing. `after` zero: all of the log, over data that may be later.
/// `progress` (may be empty) is called now and then with what has been done. At the end it counts the documents of the
/// collections that the entries write, and of those in doubt (doubtWhatIsCut). Alone on the node, without locks;
/// *blocks*. Errors: ManualInterventionRequired, when the log begins behind `after`; what OperationApplier finds, with
/// the time of the entry. Then the node must not serve these data.
StatusWith<Replayed> replayOplog(Catalog& catalog, const OplogStore& log, const OperationServices& services,
                                 bson::Timestamp after, const std::function<void(const Replayed&)>& progress = {});

/// The data are those of the time `at`, and of none before: they become stable and consistent at it, nobody reads them
/// as of an earlier one, and a checkpoint holds them, from which a start goes on. For data that a log was carried out
/// over which may have been later than its first entries. *Blocks.* Errors: those of the engine; InternalError, when
/// the checkpoint is not of that time.
Status beginDataAt(Catalog& catalog, bson::Timestamp at);

}  // namespace troupe::storage
