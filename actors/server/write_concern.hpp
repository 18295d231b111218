#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Waits, without holding a thread, until what the operation has written is as safe as its write concern asks: the only
/// place where write concerns are awaited. Gives WriteConcernFailed after `wtimeout`, the interrupt when the operation
/// is killed or its time is over, or the failure of the flush.
Task<Status> awaitWriteConcern(Request& request);

/// Appends `writeConcernError: {code, codeName, errmsg, errInfo}` to the reply.
void appendWriteConcernError(Request& request, const Status& failure);

}  // namespace troupe::server
