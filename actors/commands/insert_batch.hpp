#pragma once
#include <cstdint>
#include <vector>

#include "actors/commands/retried_statements.hpp"
#include "actors/commands/write_support.hpp"

namespace troupe::commands {
using namespace server;

/// Documents that a write command adds to one collection. Borrowed from the request.
struct InsertBatch {
  std::vector<bson::View> documents;
  int32_t first = 0;  ///< the position of the first among the statements of the command
  bool ordered = true;
  bool bypassValidation = false;
  bson::Element uuid;  ///< that the collection is to have; absent: any
};

struct InsertOutcome {
  int64_t inserted = 0;
  int64_t retried = 0;  ///< were in before: an earlier attempt of the command has added them
  size_t settled = 0;   ///< this many documents are in, or among the errors
  WriteErrors errors;   ///< by their position among the statements of the command
};

/// Adds them in groups that share a storage transaction; others run between two groups. An ordered batch ends with its
/// first failed document. Where an earlier attempt has added all of them the collection is not even looked for: it may
/// have been dropped since. Errors: those that end the command, and of opening the collection, which is made when it
/// does not exist, and of RetriedStatements; `outcome` then tells what was done before.
Task<Status> insertBatch(Request& request, AuthorizedNamespace ns, InsertBatch batch, RetriedStatements& retried,
                         InsertOutcome& outcome);

}  // namespace troupe::commands
