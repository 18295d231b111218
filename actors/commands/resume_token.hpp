#pragma once
#include "actors/server/request.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/query/plan/executor.hpp"

namespace troupe::commands {

// Scans that another cursor goes on with: with `$_requestResumeToken: true` each batch of a find has a
// `postBatchResumeToken`, {$recordId, $ident}, which the `$_resumeAfter` or `$_startAt` of a later find takes. The
// second one begins with what comes next where the record has been removed meanwhile. Clustered collections give no
// tokens.

/// {$natural: ...} alone: the order of records.
bool isNaturalOrder(bson::View pattern);

/// Whether the find asks for tokens. Errors: BadValue (a sort, or another plan than a scan of the collection; a token
/// although none are asked for).
StatusWith<bool> wantsResumeToken(const server::Request& find);

/// Has the find begin where its token says. Errors: BadValue (no token); KeyNotFound (the records of the collection are
/// others now: its data were copied anew).
Status beginAtToken(const server::Request& find, const storage::Collection& collection, query::FindRequest& wanted);

}  // namespace troupe::commands
