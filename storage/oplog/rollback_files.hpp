#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/catalog/catalog.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_store.hpp"

namespace troupe::storage {

struct RollbackFileOptions {
  std::string directory;                  ///< "<dbpath>/rollback"; made when there is something to write
  std::string time;                       ///< names the files of this rollback: "2026-11-24T17-30-05.0"
  size_t memoryBytes = size_t{16} << 20;  ///< of what is held back before it is written, and of what is remembered
};

/// Files of one rollback.
struct RollbackFiles {
  struct File {
    std::string path;
    Namespace ns;
    int64_t documents = 0;
  };
  int64_t operations = 0;  ///< of user data that are undone, inserts, updates and removals
  int64_t documents = 0;
  std::vector<File> files;
};

/// Before a rollback to `common`: writes the documents that it takes away, as they are now, so that an operator can put
/// them back (RBK-006, RBK-007). These are the documents that undone entries have inserted or changed and that are
/// there still; what was removed comes back by itself. One file for each collection,
/// `<directory>/<UUID>/removed.<time>.bson`, of documents one after the other, as mongorestore and bsondump read them;
/// on the disk when the call returns. Collections of `local`, `config` and `admin` have none: their documents are the
/// server's own, some of them secrets. Memory is bounded, whatever is undone; a document may stand in a file twice
/// where very many are. Nothing else may write meanwhile. *Blocks.* Errors: FailedToParse; OutOfDiskSpace and
/// InternalError, with the path; the engine's.
StatusWith<RollbackFiles> saveUndone(const Catalog& catalog, const OplogStore& log, const OperationServices& services,
                                     bson::Timestamp common, const RollbackFileOptions& options);

/// "2026-11-24T17-30-05.123" in UTC, for names of files. `wallMillis`: since 1970.
std::string rollbackFileTime(int64_t wallMillis);

}  // namespace troupe::storage
