#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "actors/commands/query_support.hpp"
#include "actors/commands/write_support.hpp"
#include "storage/query/update/update.hpp"

namespace troupe::commands {
using namespace server;

/// One update or delete of the documents that match a filter.
struct Modification {
  bson::View filter{};
  bson::Element update{};  ///< absent: a delete
  bson::View arrayFilters{};
  bson::View constants{};  ///< `c` of a pipeline update
  bson::View collation{};
  bson::View let{};
  bson::View sort{};  ///< which of several matches is changed (findAndModify)
  bson::Element hint{};
  bool multi = false;
  bool upsert = false;
  bool bypassValidation = false;
  bool keepBefore = false, keepAfter = false;  ///< findAndModify wants the document
  bson::View fields{};                         ///< the projection in which it wants it; empty: whole
};

struct ModificationOutcome {
  int64_t matched = 0;
  int64_t modified = 0;  ///< changed or deleted
  std::optional<bson::Value> upsertedId;
  std::optional<bson::Document> before, after;
};

/// Runs it: each document is read, changed and written in one storage transaction, again after a conflict. With `multi`
/// others run between documents. An upsert that is forestalled looks for the other one's document. Errors: those of
/// filter, update and storage, ExceededMemoryLimit (an update of very many documents that an index finds remembers
/// which are done); what was done before a failure stays done.
Task<StatusWith<ModificationOutcome>> modify(Request& request, AuthorizedNamespace ns, Modification what);

}  // namespace troupe::commands
