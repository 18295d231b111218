#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::supervisors {

/// An actor as `actorDetails` gives it, for people: its row, its state, its machine with the phase it is in, and its
/// recent messages. Parts that it does not have are left out. `width` in columns.
std::string renderActorDetails(bson::View details, int64_t nowMillis, size_t width, const Paint& paint);

/// The steps of machines as `transitionLog` gives them (newest first), oldest first as one reads a story: when, which
/// instance, the event, the phases, and below it the messages that went out. `withPath`: more than one actor's. Members
/// that could not be asked come last, with the reason.
std::string renderTransitions(const std::vector<bson::Document>& records, bool withPath, const Paint& paint);

}  // namespace troupe::supervisors
