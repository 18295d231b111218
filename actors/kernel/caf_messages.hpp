#pragma once
#include <caf/error.hpp>
#include <caf/message.hpp>

#include "messaging/envelope/payload.hpp"

/// A payload travels in CAF's messages as it is: by reference, within the process.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Payload)

namespace troupe {

/// A payload as CAF's message of one element; a local payload that holds a `caf::message` as that message.
caf::message toCafMessage(const Payload& payload);
/// The payload of a message of one Payload; any other message becomes a local payload that holds the `caf::message`,
/// for which an actor may have a handler (`on<caf::message>`).
Payload fromCafMessage(caf::message message);

/// A failure as an error of the category "troupe", whose context is the error's number and reason. OK is no error.
caf::error toCafError(const Status& status);
/// The failure that `toCafError` wrote; InternalError with CAF's own text for errors of other categories. No error is
/// OK.
Status fromCafError(const caf::error& error);

}  // namespace troupe
