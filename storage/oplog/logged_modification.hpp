#pragma once
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/collection_modification.hpp"

namespace troupe::storage {

/// What collMod was asked for, as its log entry tells it (LoggedModify::change): the command's arguments.
bson::Document argumentsOf(const CollectionChange& change);

/// The change of an entry. Its index is named by `index.name`. Errors: FailedToParse, with the field that is wrong or
/// unknown.
StatusWith<CollectionChange> changeOf(bson::View arguments);

}  // namespace troupe::storage
