#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Compares the `collectionUUID` of a command, if it has one, with the collection that the name stands for by now.
/// Fails with CollectionUUIDMismatch and both names, so that the client may look its collection up again. `field`: the
/// argument. The caller has checked that the client may use the name, and holds its lock where the answer has to last.
Status checkCollectionUuid(const Request& request, const storage::Namespace& ns,
                           std::string_view field = "collectionUUID");

/// The same for what a part of the command expects; `given` may be absent.
Status checkCollectionUuid(const Request& request, const storage::Namespace& ns, const bson::Element& given);

/// The same for the name in the command's own field.
Status checkCollectionUuid(const Request& request);

}  // namespace troupe::server
